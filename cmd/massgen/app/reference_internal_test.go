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

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
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
	app := cliApp(testProgram(t))
	text := string(data)
	for name, table := range map[string]string{
		"flags": flagTable(app.Flags), "commands": commandTable(app.Commands), "exit statuses": exitTable(), "result": fieldTable(t, reflect.TypeFor[report.Result]()),
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

// TestHelpFitsAScreen of 80 columns and 50 lines, but for the list of all flags. The help lists all topics.
func TestHelpFitsAScreen(t *testing.T) {
	app := cliApp(testProgram(t))
	pages := map[string]string{"massgen": helpText(app), "flags": flagsText(app)}
	for _, c := range app.Commands {
		pages[c.Name] = commandHelp(c)
	}
	for _, name := range topicNames() {
		if pages["topic "+name] = topicText(app, name); name == flagsTopic {
			delete(pages, "topic "+name)
		}
		if !strings.Contains(strings.Join(strings.Fields(pages["massgen"]), " "), name) {
			t.Errorf("massgen help does not list the topic %s", name)
		}
	}
	for name, text := range pages {
		lines := strings.Split(text, "\n")
		if len(lines) > 60 && name != "flags" {
			t.Errorf("the help of %s has %d lines", name, len(lines))
		}
		for _, line := range lines {
			if len([]rune(line)) > wording.HelpWidth {
				t.Errorf("the help of %s is wider than %d columns: %s", name, wording.HelpWidth, line)
			}
		}
	}
	for _, f := range app.Flags {
		if name := "--" + f.Names()[0]; !isHidden(f) && !strings.Contains(pages["flags"], name) {
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
		if !ok || isHidden(f) {
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
			code := cmdline.ResultStatus(report.Result{Status: status, Winner: "ada"})
			with[code] = append(with[code], text)
		}
		if code := cmdline.ResultStatus(report.Result{Status: status}); code == cmdline.ExitFailed && status != kernel.Completed {
			without[code] = append(without[code], text)
		}
	}
	var b strings.Builder
	b.WriteString("| Status | Meaning | `status` of the result |\n| --- | --- | --- |\n")
	for code, meaning := range cmdline.ExitMeanings() {
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

// aboutFields says what the fields of a result mean.
var aboutFields = map[string]string{
	"format":           "the version of this form: 1",
	"session_id":       "the session",
	"turn":             "the turn's number in the session, from 1",
	"question":         "the question as it was asked, without notes",
	"status":           "how the turn ended (below)",
	"winner":           "the agent whose answer won; empty if there is none",
	"answer":           "the winning answer",
	"snapshot":         "the folder with the winner's files at the time of the answer; empty if there is none",
	"citations":        "the sources that the answer's author named; left out if there are none",
	"answers":          "the answers that stand at the end",
	"votes":            "the votes that count; `label` names the answer",
	"void_votes":       "the votes that do not count, and in `void` why",
	"agents":           "the outcome of each agent (below)",
	"failed":           "the agents whose calls failed, so that they gave no answer and no vote",
	"tool_calls":       "the tool calls in their order, with their states (below)",
	"partials":         "texts that had arrived when their call ended early; never an answer",
	"notes":            "what was added to the question while the turn ran, and who has seen it",
	"warnings":         "what a person should know, such as a permission rule that can never match",
	"context_warnings": "agents whose context was nearly full, or of which something was left out",
	"session":          "the sums of the session after the turn; null if the store could not be read",
	"rounds":           "how many rounds the turn had",
	"strategy":         "the strategy; left out, with the fields down to `saved`, if the config and the flags have no key for deciding",
	"stage":            "the stage of the cascade that the turn came to, from 1; left out without a cascade",
	"analysis":         "what the judge found in the answers, which it names by their labels; `found` is false for a quotation that is not in its answer; null without one",
	"agreement":        "the winner's share of the valid votes, or without votes of the answers that stand; null without a winner",
	"dissent":          "the items of the analysis that the winning answer does not make; null without an analysis",
	"flips":            "who changed their mind: the next answer after others' were shown, or the next vote for another agent's answer",
	"checks":           "the checks of all accepted answers; `exit` is the status of the command; left out without a check",
	"saved":            "the part of a cascade that was not needed, such as 1 of 2 stages, 1 agent not asked; left out without a cascade",
	"consultants":      "the judge and the model of the verdicts, if they are no agents; left out if there are none",
	"repeated_calls":   "how many calls were made again after a process was lost",
	"budget":           "the limits and what was spent of them; `unknown_` is the part that no service reported; null without a limit",
	"usage":            "what all calls took; `reasoning_tokens` is a part of the output, left out if it is 0",
	"duration_ms":      "how long the turn took, in milliseconds",
}

func fieldTable(t *testing.T, of reflect.Type) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| Field | What it means | Its parts |\n| --- | --- | --- |\n")
	for _, f := range jsonFields(of) {
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
		parts := strings.Join(names, ", ")
		switch {
		case isList && len(names) > 0:
			parts = "a list of " + parts
		case isList:
			parts = "a list of texts"
		}
		about := aboutFields[jsonName(f)]
		if about == "" {
			t.Errorf("aboutFields does not describe %s", jsonName(f))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", jsonName(f), about, parts)
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
