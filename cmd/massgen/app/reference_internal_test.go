package app

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/kernel"
)

var updateReference = flag.Bool("update-reference", false, "write the tables of docs/scripting.md anew")

// TestReference: the tables of docs/scripting.md have every flag and command with its help, every
// exit status, and every field of a result.
func TestReference(t *testing.T) {
	const page = "../../../docs/scripting.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	app := testProgram(t).cliApp()
	text := string(data)
	for name, table := range map[string]string{
		"flags": flagTable(app.Flags), "commands": commandTable(app.Commands), "exit statuses": exitTable(), "result": fieldTable(reflect.TypeFor[report.Result]()),
	} {
		begin, end := fmt.Sprintf("<!-- %s: written by cmd/massgen/app/reference_internal_test.go -->\n", name), "<!-- end of "+name+" -->"
		before, rest, found := strings.Cut(text, begin)
		kept, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no marks of the table %s", page, name)
		}
		if kept != table && !*updateReference {
			t.Errorf("the table %s of %s differs: go test ./cmd/massgen/app -run TestReference -update-reference writes it\n%s", name, page, table)
		}
		text = before + begin + table + end + after
	}
	if *updateReference {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHelpFitsAScreen of 80 columns and 50 lines, but for the list of all flags.
func TestHelpFitsAScreen(t *testing.T) {
	p := testProgram(t)
	app := p.cliApp()
	pages := map[string]string{"massgen": p.helpText(), "flags": p.flagsText()}
	for _, c := range app.Commands {
		pages[c.Name] = commandHelp(c)
	}
	for name, text := range pages {
		lines := strings.Split(text, "\n")
		if len(lines) > 50 && name != "flags" {
			t.Errorf("the help of %s has %d lines", name, len(lines))
		}
		for _, line := range lines {
			if len([]rune(line)) > helpWidth {
				t.Errorf("the help of %s is wider than %d columns: %s", name, helpWidth, line)
			}
		}
		if strings.Contains(text, "{{") {
			t.Errorf("the help of %s would be read as a template", name)
		}
	}
	for _, f := range app.Flags {
		if name := "--" + f.Names()[0]; name != "--help" && !strings.Contains(pages["flags"], name) {
			t.Errorf("massgen help flags lacks %s", name)
		}
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func flagTable(flags []cli.Flag) string {
	var b strings.Builder
	b.WriteString("| Flag | What it does | Without it |\n| --- | --- | --- |\n")
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok || f.Names()[0] == "help" {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.Join(dashed(f), "`, `"), cell(doc.GetUsage()), cell(strings.TrimPrefix(doc.GetDefaultText(), "false")))
	}
	return b.String()
}

// exitTable has beside each exit status the texts of status in the results for which it stands.
func exitTable() string {
	with, without := map[int][]string{}, map[int][]string{}
	for _, status := range []kernel.Status{
		kernel.Completed, kernel.NoConsensus, kernel.Timeout, kernel.Budget, kernel.MaxTurns, kernel.Cut, kernel.AllFailed,
	} {
		text := "`" + status + "`"
		if status != kernel.AllFailed {
			code := resultStatus(report.Result{Status: status, Winner: "ada"})
			with[code] = append(with[code], text)
		}
		if code := resultStatus(report.Result{Status: status}); code == ExitFailed && status != kernel.Completed {
			without[code] = append(without[code], text)
		}
	}
	var b strings.Builder
	b.WriteString("| Status | Meaning | `status` of the result |\n| --- | --- | --- |\n")
	for code, meaning := range exitMeanings() {
		texts := strings.Join(with[code], ", ")
		if len(without[code]) > 0 {
			texts += strings.Join(without[code], ", ") + " without an answer"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", code, meaning, texts)
	}
	return b.String()
}

func commandTable(commands []*cli.Command) string {
	var b strings.Builder
	b.WriteString("| Command | What it does |\n| --- | --- |\n")
	for _, c := range commands {
		if c.Usage == "" { // a flag says the same
			continue
		}
		fmt.Fprintf(&b, "| `massgen %s` | %s |\n", c.Name, cell(c.Usage))
	}
	return b.String()
}

func fieldTable(of reflect.Type) string {
	var b strings.Builder
	b.WriteString("| Field | What it has |\n| --- | --- |\n")
	for _, f := range jsonFields(of) {
		what := "a value"
		elem, isList := f.Type, f.Type.Kind() == reflect.Slice
		for elem.Kind() == reflect.Slice || elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		var names []string
		if elem.Kind() == reflect.Struct {
			for _, inner := range jsonFields(elem) {
				names = append(names, "`"+jsonName(inner)+"`")
			}
		}
		switch {
		case isList && len(names) > 0:
			what = "a list of " + strings.Join(names, ", ")
		case isList:
			what = "a list of texts"
		case len(names) > 0:
			what = strings.Join(names, ", ")
		case elem.Kind() == reflect.String:
			what = "a text"
		case elem.Kind() == reflect.Int || elem.Kind() == reflect.Int64:
			what = "a number"
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", jsonName(f), what)
	}
	return b.String()
}

// jsonFields returns the fields that encoding/json writes for a struct, embedded ones included.
func jsonFields(of reflect.Type) (fields []reflect.StructField) {
	for _, f := range reflect.VisibleFields(of) {
		if !f.Anonymous && f.IsExported() && jsonName(f) != "-" {
			fields = append(fields, f)
		}
	}
	return slices.Clip(fields)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
