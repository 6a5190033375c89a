package cmdline

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/budget"
)

// BudgetFlags returns the flags for the limits of a turn and of a session. They replace the config's
// limits. Their help begins with when.
func BudgetFlags(b *budget.Budget, category, when string) []cli.Flag {
	var flags []cli.Flag
	for _, of := range []struct {
		prefix, what, kept string
		limits             *budget.Limits
	}{{"", "a turn", "", &b.Turn}, {"session-", "all turns of a session together", "; the session keeps this limit", &b.Session}} {
		flags = append(flags,
			&cli.StringFlag{Name: of.prefix + "max-usd", Category: category, Action: readUSD(of.prefix+"max-usd", &of.limits.USD),
				Usage: when + "let " + of.what + " cost no more than so many US `DOLLARS`" + of.kept},
			&cli.StringFlag{Name: of.prefix + "max-tokens", Category: category, Action: readCount(of.prefix+"max-tokens", &of.limits.Tokens),
				Usage: when + "let " + of.what + " take no more than `N` tokens, of input and output" + of.kept},
			&cli.StringFlag{Name: of.prefix + "max-calls", Category: category, Action: readCount(of.prefix+"max-calls", &of.limits.Calls),
				Usage: when + "let " + of.what + " make no more than `N` requests to models; one that is answered with an HTTP error is not counted" + of.kept},
		)
	}
	return flags
}

func readUSD(name string, limit **budget.USD) func(*cli.Context, string) error {
	return func(_ *cli.Context, text string) error {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= configs.MostUSD) { // NaN is neither
			return fmt.Errorf("--%s is %q: it is a number of US dollars from 0 to %d", name, wording.Shortened(text, 40), configs.MostUSD)
		}
		usd := budget.Dollars(v)
		*limit = &usd
		return nil
	}
}

func readCount(name string, limit **int) func(*cli.Context, string) error {
	return func(_ *cli.Context, text string) error {
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 0 {
			return fmt.Errorf("--%s is %q: it is a whole number from 0 on", name, wording.Shortened(text, 40))
		}
		n := int(v)
		*limit = &n
		return nil
	}
}
