package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// helpWidth is the longest line of a help text, in columns. A new terminal has as many.
const helpWidth = 80

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
	b.WriteString(twoColumns(rows))
	b.WriteString("\nThe flags that are used most; massgen help flags has all of them:\n")
	b.WriteString(twoColumns(flagRows(app.Flags, "config", "models", "session-id", "continue", "quiet", "json", "max-usd", "validate")))
	b.WriteString("\n" + description + "\n\n" + statusIntroduction + "\n" + twoColumns(exitRows()))
	return b.String()
}

// exitRows returns a row for each exit status.
func exitRows() (rows [][2]string) {
	for status, meaning := range exitMeanings() {
		rows = append(rows, [2]string{strconv.Itoa(status), meaning})
	}
	return rows
}

// flagsText lists all flags by category.
func flagsText(app *cli.App) string {
	var texts []string
	for _, category := range categories(app.Flags) {
		texts = append(texts, category.name+"\n"+twoColumns(flagRows(category.flags)))
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

// commandHelp returns what "massgen COMMAND --help" prints.
func commandHelp(c *cli.Command) string {
	text := fmt.Sprintf("massgen %s - %s\n\n%s\n", c.Name, c.Usage, strings.TrimRight(c.UsageText, "\n"))
	if len(c.Flags) > 0 {
		text += "\nFlags:\n" + twoColumns(flagRows(c.Flags))
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
		if !ok {
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

// twoColumns formats rows as a table and wraps the second column at helpWidth. A first cell that
// is too long gets a line of its own.
func twoColumns(rows [][2]string) string {
	const longest = 28
	left := 0
	for _, row := range rows {
		if len(row[0]) <= longest {
			left = max(left, len(row[0]))
		}
	}
	indent := strings.Repeat(" ", left+4)
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("  " + row[0])
		begins := indent[min(len(indent), 2+len(row[0])):]
		if len(row[0]) > left {
			b.WriteString("\n")
			begins = indent
		}
		width := len(indent)
		for word := range strings.FieldsSeq(row[1]) {
			columns := utf8.RuneCountInString(word)
			if width+columns > helpWidth {
				b.WriteString("\n")
				width, begins = len(indent), indent
			}
			b.WriteString(begins)
			b.WriteString(word)
			width, begins = width+columns+1, " "
		}
		b.WriteString("\n")
	}
	return b.String()
}
