package app

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// TestHelpEnvironmentHasTheVariablesOfFlags: the help of each flag, of any command, names the variable that stands for it.
func TestHelpEnvironmentHasTheVariablesOfFlags(t *testing.T) {
	t.Parallel()
	p := testProgram(t)
	p.Env.Cluster = struct{ cmdline.Cluster }{} // as in massgen-temporal, which has more flags
	app := cliApp(p)
	flags := slices.Clone(app.Flags)
	var add func([]*cli.Command)
	add = func(commands []*cli.Command) {
		for _, c := range commands {
			flags = append(flags, c.Flags...)
			add(c.Subcommands)
		}
	}
	add(app.Commands)
	variable := regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)+\b`)
	text, found := topicText(app, "environment"), 0
	for _, f := range flags {
		documented, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		for _, name := range variable.FindAllString(documented.GetUsage()+" "+documented.GetDefaultText(), -1) {
			found++
			if !strings.Contains(text, name) {
				t.Errorf("it has no %s, which the help of --%s names", name, f.Names()[0])
			}
		}
	}
	if !strings.Contains(text, cmdline.TemporalKeyVariable) { // the API key's default
		t.Errorf("it has no %s", cmdline.TemporalKeyVariable)
	}
	if found < 5 {
		t.Errorf("only %d flags name a variable", found)
	}
}
