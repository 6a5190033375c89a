package app

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page", UsageText: "massgen man | man -l -",
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(c.App.Writer, manPage(c.App))
			return err
		},
	}
}

// manPage returns the manual page in the macros of man(7): what --help, "massgen help flags" and the
// help of each command say.
func manPage(app *cli.App) string {
	var b strings.Builder
	b.WriteString(".TH massgen 1\n.nh\n.SH NAME\nmassgen \\- " + roff(about) + "\n.SH SYNOPSIS\n")
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
