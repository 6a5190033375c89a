package pytools

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/massgen/massgen/configs"
)

// TestPage: the example of docs/custom_tools.md does what the page says.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "custom_tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	part := func(pattern string) []string {
		found := regexp.MustCompile(pattern).FindSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no %s", pattern)
		}
		var texts []string
		for _, text := range found[1:] {
			texts = append(texts, string(text))
		}
		return texts
	}
	t.Chdir(t.TempDir())
	for name, pattern := range map[string]string{"money.py": "(?s)```python\n(.*?)```", "trip.yaml": "(?s)```yaml\n(agent:.*?)```"} {
		if err := os.WriteFile(name, []byte(part(pattern)[0]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, err := configs.Load("trip.yaml", configs.Options{})
	if err != nil || len(config.Warnings) > 0 {
		t.Fatalf("%v, warnings %v", err, config.Warnings)
	}
	o, _ := options(t, "")
	o.Agent, o.Tools = config.Agents[0], config.Agents[0].Tools.Custom
	h := start(t, o)
	example := part("(?s)A call with `([^`]*)` returns\\s+`([^`]*)`")
	if got, err := call(t.Context(), t, h, "convert", example[0]); err != nil || got != example[1] {
		t.Errorf("convert(%s) = %q, %v, and the page says %q", example[0], got, err, example[1])
	}
}
