package cmdline

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// The arguments of a command that are no verbs.
const (
	SessionArgument = "ID"
	FileArgument    = "FILE"
)

// Offer prints the arguments of a BashComplete.
func Offer(ctx *cli.Context, arguments ...string) {
	for _, name := range arguments {
		_, _ = fmt.Fprintln(ctx.App.Writer, name) // the strings.Builder of completer.arguments takes all
	}
}

// CompleteFirst returns the BashComplete of a command whose first argument is one of these.
func CompleteFirst(arguments ...string) cli.BashCompleteFunc {
	return func(ctx *cli.Context) {
		if !ctx.Args().Present() {
			Offer(ctx, arguments...)
		}
	}
}
