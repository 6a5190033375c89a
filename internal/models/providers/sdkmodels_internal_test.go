package providers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/models/prices"
)

// sdks are the libraries that list the models of a provider, and the names in those lists.
func sdks() []sdk {
	return []sdk{
		{"openai", "github.com/sashabaranov/go-openai", "completion.go", `^(gpt|chatgpt|o\d|codex)`},
		{"claude", "github.com/anthropics/anthropic-sdk-go", "message.go", `^claude-`},
		{"gemini", "google.golang.org/genai", "interactions/models/interactions/model.go", `^gemini-`},
	}
}

type sdk struct{ provider, module, file, names string }

// models are those of the library that is linked, with the note of each that is deprecated.
func (s sdk) models(t *testing.T) map[string]string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", s.module).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), s.file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			name, err := strconv.Unquote(literal.Value)
			if err == nil && regexp.MustCompile(s.names).MatchString(name) {
				_, note, _ := strings.Cut(spec.Doc.Text(), "Deprecated: ")
				models[name] = strings.Join(strings.Fields(note), " ")
			}
		}
		return true
	})
	if len(models) < 10 {
		t.Errorf("%s of %s has %d models: it lists them elsewhere now", s.file, s.module, len(models))
	}
	return models
}

// TestTableKnowsTheSDKsModels compares the table of models with the lists of the providers' own
// libraries. A model that the table leaves out stands in testdata/left_out.txt, with a reason.
// scripts/models.sh shows what the test has found.
func TestTableKnowsTheSDKsModels(t *testing.T) {
	table, err := prices.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	leftOut := readLeftOut(t)
	used := map[string]bool{}
	for _, s := range sdks() {
		models := s.models(t)
		p, _ := findProvider(s.provider)
		if note := models[p.model]; note != "" {
			t.Errorf("%s's default model %s is deprecated: %s", s.provider, p.model, note)
		}
		known := 0
		for name, note := range models {
			_, ok := table.Lookup(s.provider, name)
			key := s.provider + " " + name
			switch {
			case ok && leftOut[key] != "":
				t.Errorf("%s is in the table, and in left_out.txt", key)
			case ok:
				known++
				if note != "" {
					t.Logf("%s: the library says: %s", key, note)
				}
			case leftOut[key] != "":
				used[key] = true
			case !otherUse.MatchString(name) && note == "":
				t.Errorf("%s is in %s, and not in the table as of %s", key, s.module, prices.Date)
			}
		}
		t.Logf("%s: the table knows %d of the %d models of %s", s.provider, known, len(models), s.module)
		for _, name := range table.Names(s.provider) {
			if _, ok := models[name]; !ok {
				t.Logf("%s %s is in the table, and not in the library", s.provider, name)
			}
		}
	}
	for key := range leftOut {
		if !used[key] {
			t.Errorf("left_out.txt has %s, which no library lists", key)
		}
	}
}

func readLeftOut(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/left_out.txt")
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]string{}
	var reason string
	for line := range strings.Lines(string(text)) {
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			reason = comment
			continue
		}
		words := strings.Fields(line)
		for _, name := range words[min(1, len(words)):] {
			models[words[0]+" "+name] = reason
		}
	}
	return models
}
