package configs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

var updateReference = flag.Bool("update-reference", false, "write docs/keys.md anew")

// TestKeysPage: docs/keys.md has the keys of all_settings.yaml, which TestAllSettings compares
// with those that the program reads.
func TestKeysPage(t *testing.T) {
	const page = "../docs/keys.md"
	data, _ := ReadExample("all_settings")
	var file yaml.Node
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(keysHead)
	seen := map[string]bool{}
	addKeys(&b, seen, "", file.Content[0])
	kept, err := os.ReadFile(page)
	if string(kept) == b.String() {
		return
	}
	if !*updateReference {
		t.Fatalf("docs/keys.md differs (%v): go test ./configs -run TestKeysPage -update-reference writes it", err)
	}
	if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const keysHead = `# The keys of a configuration

` + "```sh" + `
massgen --example all_settings > panel.yaml    # every key with its meaning, to copy from
massgen --validate panel.yaml                  # names what is wrong with it, and calls no model
` + "```" + `

A test writes this table from [all_settings.yaml](../configs/all_settings.yaml). ` + "`[]`" + ` stands for the items of a list.

| Key | Value, or one of them | Meaning |
| --- | --- | --- |
`

// addKeys adds a row for each key below a path that no row has yet: items of a list share theirs.
func addKeys(b *strings.Builder, seen map[string]bool, path string, node *yaml.Node) {
	switch node.Kind {
	case yaml.SequenceNode:
		for _, item := range node.Content {
			addKeys(b, seen, path+"[]", item)
		}
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			name := strings.TrimPrefix(path+"."+key.Value, ".")
			if !seen[name] {
				seen[name] = true
				fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, valueCell(value), meaningCell(key, value))
			}
			addKeys(b, seen, name, value)
		}
	}
}

func valueCell(node *yaml.Node) string {
	text := node.Value
	switch {
	case node.Kind == yaml.SequenceNode && node.Style == yaml.FlowStyle, node.Kind == yaml.MappingNode && node.Style == yaml.FlowStyle:
		plain := *node
		plain.LineComment = ""
		data, err := yaml.Marshal(&plain)
		if err != nil {
			return err.Error()
		}
		text = strings.TrimSpace(string(data))
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

func meaningCell(key, value *yaml.Node) string {
	for _, comment := range []string{value.LineComment, key.LineComment} {
		if comment != "" {
			return strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(comment, "#")), "|", `\|`)
		}
	}
	return ""
}

// TestMigrationPage: docs/migration.md has the fate of each key that only MassGen has.
func TestMigrationPage(t *testing.T) {
	const page = "../docs/migration.md"
	const head = "## Keys that only MassGen has\n"
	kept, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(kept), head)
	if !ok {
		t.Fatalf("%s has no heading %s", page, head)
	}
	var b strings.Builder
	b.WriteString(before + head + migrationHead)
	for _, h := range homes() {
		where := h.path
		if where == "" {
			where = "the top level"
		}
		for _, k := range h.massgen {
			note := strings.TrimSpace(string(k.topic) + k.hint)
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", where, strings.Join(strings.Fields(k.names), "` `"), k.fate, strings.ReplaceAll(note, "|", `\|`))
		}
	}
	if string(kept) == b.String() {
		return
	}
	if !*updateReference {
		t.Fatalf("%s differs: go test ./configs -run TestMigrationPage -update-reference writes it", page)
	}
	if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

const migrationHead = `
Every other key of MassGen works: [keys.md](keys.md) has them. ` + "`massgen config keys`" + ` prints this table, too; a test
writes it from the code. A value that switches a key off causes no warning and no error.

| Where | Keys | Fate | Here |
| --- | --- | --- | --- |
`
