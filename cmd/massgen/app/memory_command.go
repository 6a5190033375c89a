package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// memoryCommand keeps facts about a user, across sessions.
type memoryCommand struct {
	console *console
	kept    *storage

	user string
}

func newMemory(c *console, kept *storage) *cli.Command {
	return (&memoryCommand{console: c, kept: kept}).cli()
}

func (c *memoryCommand) cli() *cli.Command {
	return keptCommand{
		name: "memory", about: "list, add or forget what is remembered of a user",
		flags: []cli.Flag{
			textFlag("", "user", &c.user, "facts about `USER`, which is the part u1 of the session id Dan|app_u1; by default the user of this machine"),
		},
		verbs: []verb{
			{name: "list", about: "list the facts with their ids", most: noArguments, flags: []string{"user", "json"}, run: c.list},
			{name: "add", arguments: `"TEXT"`, about: "remember a fact", least: 1, most: 1, flags: []string{"user"}, makes: true, run: c.add},
			{name: "forget", arguments: "ID...", about: "forget facts", least: 1, run: c.forget},
		},
	}.cli(c.kept)
}

func (c *memoryCommand) add(ctx context.Context, store *store.Store, words []string) error {
	fact, err := store.AddFact(ctx, c.user, words[0])
	if err != nil {
		return err
	}
	return c.console.put(fmt.Sprintf("remembered fact %d\n", fact.ID))
}

func (c *memoryCommand) list(ctx context.Context, store *store.Store, _ []string) error {
	facts, err := store.Facts(ctx, c.user)
	switch {
	case err != nil:
		return err
	case c.kept.isJSON():
		return c.console.putJSON(append([]sessions.Fact{}, facts...))
	case len(facts) == 0:
		return c.console.put(c.nothingRemembered())
	}
	rows := [][]string{{"ID", "SINCE", "FACT"}}
	for _, f := range facts {
		rows = append(rows, []string{strconv.FormatInt(f.ID, 10), moment(f.Created), f.Text})
	}
	return c.console.put(plain.Columns(rows))
}

func (c *memoryCommand) nothingRemembered() string {
	if c.user == "" {
		return fmt.Sprintf("nothing is remembered yet: %s \"TEXT\" does it\n", c.kept.command("memory", "add"))
	}
	return fmt.Sprintf("nothing is remembered of the user %s yet: %s \"TEXT\" does it\n", plain.Line(c.user), c.kept.command("memory", "add", "--user", c.user))
}

func (c *memoryCommand) forget(ctx context.Context, store *store.Store, words []string) error {
	ids := make([]int64, len(words))
	for i, word := range words {
		var err error
		if ids[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return fmt.Errorf("%q is no id of a fact, which is a number: %s shows them", shortened(word, 40), c.kept.command("memory", "list"))
		}
	}
	for _, id := range ids {
		err := store.Forget(ctx, id)
		if errors.Is(err, sessions.ErrNoFact) {
			return fmt.Errorf("%w: %s shows them", err, c.kept.command("memory", "list"))
		}
		if err != nil {
			return err
		}
		if err := c.console.put(fmt.Sprintf("forgot fact %d\n", id)); err != nil {
			return err
		}
	}
	return nil
}
