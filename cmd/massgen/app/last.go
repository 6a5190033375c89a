package app

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
)

// lastCommand returns the command last, which prints the last answer again.
func lastCommand(p *program.Program) *cli.Command {
	o := &p.Options
	return &cli.Command{
		Name: "last", Usage: "print the last answer of this folder again",
		UsageText: "massgen last [SESSION]\n\n" + wording.TwoColumns([][2]string{
			{"SESSION", "print the last answer of this session; without it, of the session of this folder that was used last"},
		}),
		Flags: append([]cli.Flag{
			cmdline.SwitchFlag("", "anywhere", &o.Session.Anywhere, "take the last session of all folders"),
			cmdline.SwitchFlag("", "raw", &o.Display.Raw, "print its Markdown as it is, also on a terminal"),
			cmdline.SwitchFlag("", "pager", &o.Display.Pager, "show it in $PAGER, if it is longer than the screen (else less -FRX)"),
		}, slices.DeleteFunc(p.Kept.CommandFlags(), func(f cli.Flag) bool { return f.Names()[0] == "json" })...),
		BashComplete: archive.CompleteFirst(archive.SessionArgument),
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() > 1 {
				return errors.New("last: it takes one session: massgen last [SESSION]")
			}
			return p.Kept.Run(ctx.Context, "last", archive.Verb{Run: func(ctx context.Context, kept *store.Store, words []string) error {
				return talk.PrintLast(ctx, p, kept, words)
			}}, ctx.Args().Slice())
		},
	}
}
