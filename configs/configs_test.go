package configs

import "testing"

func TestExamplesLoadWithoutWarnings(t *testing.T) {
	types := []string{"auto", "openai", "claude", "gemini", "chatcompletion"}
	for _, example := range Examples() {
		for _, name := range []string{"@examples/" + example.Name, example.Name + ".yaml", "configs/" + example.Name + ".yaml"} {
			t.Run(name, func(t *testing.T) {
				t.Chdir(t.TempDir())
				config, err := Load(name, Options{
					Lookup:       func(string) (string, bool) { return "", false },
					BackendTypes: types,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range config.Warnings {
					t.Error(w)
				}
			})
		}
		if example.Summary == "" || len(example.Summary) > 90 {
			t.Errorf("%s: summary %q", example.Name, example.Summary)
		}
	}
	if len(Examples()) == 0 {
		t.Error("no examples")
	}
}
