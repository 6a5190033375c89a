package app

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
)

// about is the program in a line.
const about = "several language models answer, read each other and vote"

const usageText = `  massgen "question"             ask a panel
  massgen "question" <notes.txt  the same, with a file or a pipe beside it
  massgen                        talk, in a new session; /help lists commands
  massgen --continue "question"  go on with this folder's last session`

const description = `Without --config and --models the panel is .massgen/config.yaml if you trust it,
else massgen/config.yaml of your configuration folder, else three_agents. The
answer goes to standard output, all else to standard error; -- ends the flags.`

const statusIntroduction = "The exit status, with --lines the first that is not 0:"

// helpText returns what --help prints. It fits one screen; "massgen help flags" prints the rest.
func helpText(app *cli.App) string {
	var b strings.Builder
	b.WriteString("massgen - " + about + "\n\n")
	b.WriteString(usageText + "\n\nCommands, each with a --help of its own:\n")
	var rows [][2]string
	for _, c := range app.Commands {
		if !c.Hidden {
			rows = append(rows, [2]string{c.Name, c.Usage})
		}
	}
	rows = append(rows, [2]string{"help TOPIC", "explain " + strings.Join(topicNames(), ", ")})
	b.WriteString(wording.TwoColumns(rows))
	b.WriteString("\nThe flags that are used most; massgen help flags has all of them:\n")
	b.WriteString(wording.TwoColumns(flagRows(app.Flags, "config", "models", "session-id", "quiet", "json", "max-usd")))
	b.WriteString("\n" + description + "\n\n" + statusIntroduction + "\n" + wording.TwoColumns(exitRows()))
	return b.String()
}

// exitRows returns a row for each exit status.
func exitRows() (rows [][2]string) {
	for status, meaning := range cmdline.ExitMeanings() {
		rows = append(rows, [2]string{strconv.Itoa(status), meaning})
	}
	return rows
}

// flagsText lists all flags by category.
func flagsText(app *cli.App) string {
	var texts []string
	for _, category := range categories(app.Flags) {
		texts = append(texts, category.name+"\n"+wording.TwoColumns(flagRows(category.flags)))
	}
	return strings.Join(texts, "\n")
}

// category is a group of flags under one heading.
type category struct {
	name  string
	flags []cli.Flag
}

// categories returns the groups of the flags, in the order in which they begin.
func categories(flags []cli.Flag) (list []category) {
	for _, f := range flags {
		name := categoryOf(f)
		i := slices.IndexFunc(list, func(c category) bool { return c.name == name })
		if i < 0 {
			i, list = len(list), append(list, category{name: name})
		}
		list[i].flags = append(list[i].flags, f)
	}
	return list
}

func categoryOf(f cli.Flag) string {
	if c, ok := f.(cli.CategorizableFlag); ok {
		return c.GetCategory()
	}
	return ""
}

// isHidden reports whether no help shows a flag: it is accepted for programs that give it to MassGen.
func isHidden(f cli.Flag) bool {
	visible, isKnown := f.(cli.VisibleFlag)
	return isKnown && !visible.IsVisible()
}

// commandHelp returns what "massgen COMMAND --help" prints.
func commandHelp(c *cli.Command) string {
	text := fmt.Sprintf("massgen %s - %s\n\n%s\n", c.Name, c.Usage, strings.TrimRight(c.UsageText, "\n"))
	if len(c.Flags) > 0 {
		text += "\nFlags:\n" + wording.TwoColumns(flagRows(c.Flags))
	}
	return text
}

// flagRows returns a row for each flag: its names and its help. With names it returns those
// flags alone, in the order of the names.
func flagRows(flags []cli.Flag, names ...string) (rows [][2]string) {
	if len(names) > 0 {
		flags = slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
		slices.SortStableFunc(flags, func(a, b cli.Flag) int {
			return slices.Index(names, a.Names()[0]) - slices.Index(names, b.Names()[0])
		})
	}
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok || isHidden(f) {
			continue
		}
		before, rest, hasValue := strings.Cut(doc.GetUsage(), "`")
		value, after, _ := strings.Cut(rest, "`")
		left, right := strings.Join(dashed(f), ", "), doc.GetUsage()
		if hasValue {
			left, right = left+" "+value, before+value+after
		}
		if text := doc.GetDefaultText(); text != "" && text != "false" {
			right += " (default: " + text + ")"
		}
		rows = append(rows, [2]string{left, right})
	}
	return rows
}

// dashed returns the names of a flag as they are typed, short ones first.
func dashed(f cli.Flag) (names []string) {
	for _, name := range f.Names() {
		if len(name) == 1 {
			names = append([]string{"-" + name}, names...)
		} else {
			names = append(names, "--"+name)
		}
	}
	return names
}

// manCommand prints the manual page of the program with a name.
func manCommand(name string) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page", UsageText: "massgen man | man -l -",
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(c.App.Writer, manPage(name, c.App))
			return err
		},
	}
}

// manPage returns the manual page in the macros of man(7): what --help, "massgen help flags" and the
// help of each command say.
func manPage(program string, app *cli.App) string {
	var b strings.Builder
	b.WriteString(".TH " + roff(program) + " 1\n.nh\n.SH NAME\n" + roff(program) + " \\- " + roff(about) + "\n.SH SYNOPSIS\n")
	b.WriteString(verbatim(usageText) + ".SH DESCRIPTION\n" + roff(description) + "\n")
	b.WriteString(".SH OPTIONS\n")
	for _, category := range categories(app.Flags) {
		b.WriteString(".SS " + roff(category.name) + "\n" + roffRows(flagRows(category.flags)))
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range app.Commands {
		if !c.Hidden {
			b.WriteString(".SS " + roff(c.Name) + "\n" + roff(c.Usage) + "\n.PP\n" + verbatim(c.UsageText) + roffRows(flagRows(c.Flags)))
		}
	}
	b.WriteString(".SH EXIT STATUS\n" + roff(statusIntroduction) + "\n" + roffRows(exitRows()))
	return b.String()
}

// verbatim keeps the lines of a text as they are.
func verbatim(text string) string {
	return ".EX\n" + roff(strings.Trim(text, "\n")) + "\n.EE\n"
}

// roffRows returns each row as a paragraph: the first cell, and the second indented below it.
func roffRows(rows [][2]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(".TP\n.B " + roff(row[0]) + "\n" + roff(row[1]) + "\n")
	}
	return b.String()
}

// roff keeps a text from being read as markup: a backslash begins an escape, a dot or a quote at the
// beginning of a line a macro, and a bare dash may be set as a hyphen.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
