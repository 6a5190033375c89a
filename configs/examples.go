package configs

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.yaml *.jsonl
var exampleFiles embed.FS

const examplePrefix = "@examples/"

// Example is a configuration that is shipped with the program.
type Example struct {
	// Name is what follows @examples/.
	Name string
	// Summary is the file's first line of comment.
	Summary string
}

// Examples lists the shipped configurations by name.
func Examples() []Example {
	var list []Example
	for _, name := range exampleNames() {
		data, _ := ReadExample(name) // it was listed
		first, _, _ := strings.Cut(string(data), "\n")
		list = append(list, Example{Name: name, Summary: strings.TrimSpace(strings.TrimPrefix(first, "#"))})
	}
	return list
}

// exampleNames are sorted, as the embedded folder is.
func exampleNames() []string {
	entries, err := exampleFiles.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("configs: the embedded files cannot be listed: %v", err))
	}
	var names []string
	for _, entry := range entries {
		if name, isConfig := strings.CutSuffix(entry.Name(), ".yaml"); isConfig {
			names = append(names, name)
		}
	}
	return names
}

// ReadExample returns a shipped file by its name: a config with or without .yaml, or questions with .jsonl. ok is
// false if there is no such file.
func ReadExample(name string) (data []byte, ok bool) {
	if !strings.HasSuffix(name, ".jsonl") {
		name = strings.TrimSuffix(name, ".yaml") + ".yaml"
	}
	data, err := exampleFiles.ReadFile(name)
	return data, err == nil
}
