package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
	"github.com/massgen/massgen/configs"
)

// root is what massgen does when no command is named.
func root(ctx context.Context, p *program.Program, words []string) error {
	o := p.Options.About
	switch {
	case o.ListExamples:
		return listExamples(p.Console)
	case o.ListBackends:
		return listBackends(ctx, p, words)
	case o.Example != "":
		return printExample(p.Console, o.Example)
	case o.Validate != "":
		return validate(ctx, p, o.Validate)
	}
	return talk.Converse(ctx, p, words)
}

func listExamples(c *cmdline.Console) error {
	var b strings.Builder
	for _, e := range configs.Examples() {
		fmt.Fprintf(&b, "@examples/%-24s%s\n", e.Name, e.Summary)
	}
	_, err := io.WriteString(c.Out, b.String())
	return err
}

func printExample(c *cmdline.Console, name string) error {
	data, ok := configs.ReadExample(strings.TrimPrefix(name, "@examples/"))
	if !ok {
		return fmt.Errorf("--example: there is no %s: --list-examples shows what there is", name)
	}
	_, err := c.Out.Write(data)
	return err
}

// listBackends prints the table of providers and marks those that work on this machine. Given
// a type, it prints that type's details. It prints no key.
func listBackends(ctx context.Context, p *program.Program, words []string) error {
	r, err := resolverOf(p.Env, p.Console, p.Log)
	if err != nil {
		return err
	}
	var text string
	switch len(words) {
	case 0:
		text = r.Table(ctx)
	case 1:
		text, err = r.Details(ctx, words[0])
	default:
		err = errors.New("--list-backends: it takes one type at most")
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Console.Out, text)
	return err
}
