// Package sessions has the commands that show and change what is kept: sessions, memory and describe.
package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// command looks into the sessions that are kept, and manages them.
type command struct {
	env     *cmdline.Env
	console *cmdline.Console
	kept    *archive.Archive
	panels  *program.Panels

	as       string
	markdown bool
	page     paging
	purge    purging
}

// Command returns the command sessions.
func Command(env *cmdline.Env, out *cmdline.Console, kept *archive.Archive, from *program.Panels) *cli.Command {
	c := &command{env: env, console: out, kept: kept, panels: from}
	return archive.Command{
		Name: "sessions", About: "list, show, search and manage the sessions that are kept",
		Flags: append(append([]cli.Flag{
			cmdline.TextFlag("", "as", &c.as, "import: under another `ID`"),
			cmdline.TextFlag("", "config", &c.panels.Flags.Config,
				"show: what the agents of the panel in `FILE` would be shown in the next turn, and how full their contexts are"),
			cmdline.SwitchFlag("", "markdown", &c.markdown, "export: as Markdown, to read; it cannot be imported"),
		}, c.page.flags()...), c.purge.flags()...),
		Verbs: []archive.Verb{
			{Name: "list", Alias: "ls", About: "list them, those first that were used last", Most: archive.NoArguments, Flags: []string{"json", "limit", "after"}, Run: c.listSessions},
			{Name: "show", Arguments: "[ID]", About: "show one with its turns, without an ID the last; --json: the history too, as the next turn has it under the policy full", Most: 1,
				Flags: []string{"json", "config"}, Run: c.showSession},
			{Name: "search", Arguments: "WORDS", About: "find words in titles, questions and winning answers", Least: 1, Flags: []string{"json", "limit", "after"}, Run: c.searchSessions},
			{Name: "rename", Arguments: `ID "TITLE"`, About: "give one another title", Least: 1, Most: 2, Run: c.renameSession},
			{Name: "branch", Arguments: "[ID] [TURN] [NEW_ID]", About: "copy one up to a turn, to go on from there", Most: 3, Run: c.branchSession},
			{Name: "export", Arguments: "[ID] [FILE]", About: "write one as JSONL, or as Markdown if FILE ends in .md or with --markdown; - is standard output", Most: 2, Flags: []string{"markdown"}, Run: c.exportSession},
			{Name: "import", Arguments: "FILE", About: "take in what export wrote; - is standard input", Least: 1, Most: 1, Flags: []string{"as"}, Makes: true,
				Run: c.importSession},
			{Name: "delete", Alias: "rm", Arguments: "ID...", About: "delete sessions; their branches stay", Least: 1, Run: c.deleteSessions},
			{Name: "purge", About: "delete the sessions that were not used for long; their branches stay", Most: archive.NoArguments,
				Flags: []string{"older-than", "dry-run", "yes"}, Run: c.purgeSessions},
			{Name: "usage", Arguments: "[ID]", About: "show what all of them have cost, or one", Most: 1, Flags: []string{"json"}, Run: c.showUsage},
			{Name: "compact", About: "make the file as small as it can be", Most: archive.NoArguments, Run: c.compactSessions},
		},
	}.CLI(c.kept)
}

func (c *command) renameSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.Pick(ctx, store, words, 1)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return errors.New(`the title is missing: massgen sessions rename ID "TITLE"`)
	case strings.TrimSpace(rest[0]) == "":
		return errors.New(`the title is empty, and lists show a session by it: massgen sessions rename ID "TITLE"`)
	}
	title := c.console.Secrets.Redact(rest[0])
	if err := store.Sessions.SetTitle(ctx, kept.ID, title); err != nil {
		return err
	}
	return c.console.Put(fmt.Sprintf("%s is now %q\n", plain.Line(kept.ID), plain.Line(title)))
}

// branchSession takes the turn and the new id in this order; either may be left
// out. One that is a number is the turn.
func (c *command) branchSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.Pick(ctx, store, words, 2)
	if err != nil {
		return err
	}
	from, to, turn := kept.ID, sessions.NewIDLike(kept.ID), 0
	if len(rest) > 0 {
		n, err := strconv.Atoi(rest[0])
		switch {
		case err == nil:
			turn, rest = n, rest[1:]
			if turn < 1 {
				return fmt.Errorf("turn %d: turns count from 1: %s has them", turn, c.kept.Command("sessions", "show", from))
			}
		case len(rest) == 2:
			return fmt.Errorf("%q is no number of a turn: %s has them", wording.Shortened(rest[0], 40), c.kept.Command("sessions", "show", from))
		}
	}
	if len(rest) > 0 {
		to = rest[0]
	}
	if err := archive.CheckNewID(to); err != nil {
		return err
	}
	if turn == 0 {
		var err error
		last, err := archive.LastEnded(ctx, store, from)
		if err != nil {
			return err
		}
		turn = last.Number
	}
	made, err := store.Sessions.Branch(ctx, from, turn, to)
	if errors.Is(err, sessions.ErrExists) {
		return fmt.Errorf("%w: name another", err)
	}
	if err != nil {
		return err
	}
	return c.console.Put(fmt.Sprintf("%s goes on after turn %d of %s: %s\n", plain.Line(made.ID), turn, plain.Line(from), c.kept.Asking(made.ID)))
}

// exportSession writes a session to a file, or to standard output. It masks what
// has become a secret since the session was kept, in both.
func (c *command) exportSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.Pick(ctx, store, words, 1)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && isMarkdown(rest[0]):
		c.markdown = true
	}
	var dump bytes.Buffer
	if c.markdown {
		var turns []sessions.Turn
		if turns, err = store.Sessions.Turns(ctx, kept.ID, 0); err == nil {
			dump.WriteString(inMarkdown(kept, turns))
		}
	} else {
		err = store.Sessions.Export(ctx, kept.ID, &dump)
	}
	if err != nil {
		return err
	}
	text := c.console.Secrets.Redact(dump.String())
	if !c.markdown && text != dump.String() {
		c.console.Warn("sessions export: the session has a text that is a secret now; it is masked, and so the file cannot be imported")
	}
	if len(rest) == 0 {
		rest = []string{archive.StandardStream}
	}
	if !c.markdown {
		text = inForm(rest[0], text)
	}
	return archive.PutFile(c.env, c.console, rest[0], text)
}

// inForm returns an exported session in the form that a file's name says.
func inForm(file, text string) string {
	if store.IsDocument(file) {
		return string(store.Document([]byte(text)))
	}
	return text
}

// isMarkdown reports whether the name of a file has an ending of Markdown.
func isMarkdown(file string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(file)))
}

// importSession takes in what export wrote. A secret in it cannot be masked, since
// hashes hold the texts together, and as it stands it would be sent to models with the
// history: a file that has one is refused.
func (c *command) importSession(ctx context.Context, store *store.Store, words []string) (err error) {
	file := words[0]
	if err := archive.CheckNewID(c.as); c.as != "" && err != nil {
		return err
	}
	source := c.env.Stdin
	if file != archive.StandardStream {
		f, openErr := archive.OpenFile(file)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		source = f
	}
	data, err := io.ReadAll(charset.NewReader(source))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := store.CheckSecrets(string(data)); err != nil {
		return fmt.Errorf("%s: %w; nothing was imported", file, err)
	}
	made, err := store.Sessions.Import(ctx, bytes.NewReader(data), c.as)
	switch {
	case errors.Is(err, sessions.ErrExists):
		return fmt.Errorf("%w: --as ID imports it under another", err)
	case err != nil:
		return fmt.Errorf("%s: %w; nothing was imported", file, err)
	}
	if err := archive.Disown(ctx, store, made); err != nil {
		return err
	}
	return c.console.Put(fmt.Sprintf("imported session %s, with %s\n", plain.Line(made.ID), plain.Count(made.Turns, "turn")))
}

// deleteSessions deletes nothing if one of the ids is wrong.
func (c *command) deleteSessions(ctx context.Context, store *store.Store, ids []string) error {
	for _, id := range ids {
		if err := c.kept.CheckSession(ctx, store, id); err != nil {
			return err
		}
	}
	if c.kept.CanAsk() {
		yes, err := c.kept.Asks(fmt.Sprintf("%s will be deleted for good: %s.\nGo on?", plain.Count(len(ids), "session"), plain.Line(plain.List(ids))))
		if err != nil || !yes {
			return errors.Join(err, errors.New("nothing was deleted"))
		}
	}
	for _, id := range ids {
		if err := archive.DeleteSession(ctx, store, id); err != nil {
			return err
		}
		if err := c.console.Put("deleted session " + plain.Line(id) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) compactSessions(ctx context.Context, store *store.Store, _ []string) error {
	before, err := storeSize(store.Path())
	if err != nil {
		return err
	}
	if err := store.Sessions.Compact(ctx); err != nil {
		return err
	}
	after, err := storeSize(store.Path())
	if err != nil {
		return err
	}
	return c.console.Put(fmt.Sprintf("before  %s bytes\nafter   %s bytes\n", plain.Thousands(int(before)), plain.Thousands(int(after))))
}

// storeSize returns the size of the store, with the log beside its file, in bytes.
func storeSize(path string) (int64, error) {
	var size int64
	for _, file := range []string{path, path + "-wal"} {
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}
