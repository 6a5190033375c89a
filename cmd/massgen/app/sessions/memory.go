package sessions

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// memoryCommand keeps facts about a user, across sessions.
type memoryCommand struct {
	console *cmdline.Console
	kept    *archive.Archive

	user string
}

// Memory returns the command memory.
func Memory(out *cmdline.Console, kept *archive.Archive) *cli.Command {
	c := &memoryCommand{console: out, kept: kept}
	return archive.Command{
		Name: "memory", About: "list, add or forget what is remembered of a user",
		Flags: []cli.Flag{
			cmdline.TextFlag("", "user", &c.user, "facts about `USER`, which is the part u1 of the session id Dan|app_u1; by default the user of this machine"),
		},
		Verbs: []archive.Verb{
			{Name: "list", About: "list the facts with their ids", Most: archive.NoArguments, Flags: []string{"user", "json"}, Run: c.list},
			{Name: "add", Arguments: `"TEXT"`, About: "remember a fact", Least: 1, Most: 1, Flags: []string{"user"}, Makes: true, Run: c.add},
			{Name: "forget", Arguments: "ID...", About: "forget facts", Least: 1, Run: c.forget},
		},
	}.CLI(c.kept)
}

func (c *memoryCommand) add(ctx context.Context, store *store.Store, words []string) error {
	fact, err := store.Sessions.AddFact(ctx, c.user, words[0])
	if err != nil {
		return err
	}
	return c.console.Put(fmt.Sprintf("remembered fact %d\n", fact.ID))
}

func (c *memoryCommand) list(ctx context.Context, store *store.Store, _ []string) error {
	facts, err := store.Sessions.Facts(ctx, c.user)
	switch {
	case err != nil:
		return err
	case c.kept.IsJSON():
		return c.console.PutJSON(append([]sessions.Fact{}, facts...))
	case len(facts) == 0:
		return c.console.Put(c.nothingRemembered())
	}
	rows := [][]string{{"ID", "SINCE", "FACT"}}
	for _, f := range facts {
		rows = append(rows, []string{strconv.FormatInt(f.ID, 10), wording.Moment(f.Created), f.Text})
	}
	return c.console.Put(plain.Columns(rows))
}

func (c *memoryCommand) nothingRemembered() string {
	if c.user == "" {
		return fmt.Sprintf("nothing is remembered yet: %s \"TEXT\" does it\n", c.kept.Command("memory", "add"))
	}
	return fmt.Sprintf("nothing is remembered of the user %s yet: %s \"TEXT\" does it\n", plain.Line(c.user), c.kept.Command("memory", "add", "--user", c.user))
}

func (c *memoryCommand) forget(ctx context.Context, store *store.Store, words []string) error {
	ids := make([]int64, len(words))
	for i, word := range words {
		var err error
		if ids[i], err = strconv.ParseInt(word, 10, 64); err != nil {
			return fmt.Errorf("%q is no id of a fact, which is a number: %s shows them", wording.Shortened(word, 40), c.kept.Command("memory", "list"))
		}
	}
	for _, id := range ids {
		err := store.Sessions.Forget(ctx, id)
		if errors.Is(err, sessions.ErrNoFact) {
			return fmt.Errorf("%w: %s shows them", err, c.kept.Command("memory", "list"))
		}
		if err != nil {
			return err
		}
		if err := c.console.Put(fmt.Sprintf("forgot fact %d\n", id)); err != nil {
			return err
		}
	}
	return nil
}
