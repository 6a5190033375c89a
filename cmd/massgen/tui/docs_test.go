package tui

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPage: docs/terminal.md has the keys, the commands and the screen as they are.
func TestPage(t *testing.T) {
	const path = "../../../docs/terminal.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, c := range ownCommands() {
		fmt.Fprintf(&commands, "| `%s` | %s |\n", c.Name, c.About)
	}
	golden, err := os.ReadFile("../app/testdata/fullscreen80.golden")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(golden), "\n") // below its title
	shown, _, _ = strings.Cut(shown, "\n== ")
	page := string(data)
	for name, want := range map[string]string{"KEYS": keysText, "COMMANDS": strings.TrimSuffix(commands.String(), "\n"), "SCREEN": strings.TrimRight(shown, "\n")} {
		if *update {
			page = strings.Replace(page, "\n"+name+"\n", "\n"+want+"\n", 1)
		}
		if !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("%s lacks its %s; put the word %s where they belong and run the test with -update:\n%s", path, strings.ToLower(name), name, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
