package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// What the arguments of a command are, beside its verbs.
const (
	SessionArgument = "ID"
	FileArgument    = "FILE"
)

// Offer names arguments in a BashComplete.
func Offer(ctx *cli.Context, arguments ...string) {
	for _, name := range arguments {
		_, _ = fmt.Fprintln(ctx.App.Writer, name) // the strings.Builder of completer.arguments takes all
	}
}

// CompleteFirst is the BashComplete of a command whose first argument is one of these.
func CompleteFirst(arguments ...string) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		if !ctx.Args().Present() {
			Offer(ctx, arguments...)
		}
	}
}
