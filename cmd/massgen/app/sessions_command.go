package app

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

	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// sessionsCommand looks into the sessions that are kept, and manages them.
type sessionsCommand struct {
	env     *Env
	console *console
	kept    *storage
	panels  *panelSource

	as       string
	markdown bool
}

func newSessions(env *Env, c *console, kept *storage, p *panelSource) *cli.Command {
	return (&sessionsCommand{env: env, console: c, kept: kept, panels: p}).cli()
}

func (c *sessionsCommand) cli() *cli.Command {
	return keptCommand{
		name: "sessions", about: "list, show, search and manage the sessions that are kept",
		flags: []cli.Flag{
			textFlag("", "as", &c.as, "import: under another `ID`"),
			textFlag("", "config", &c.panels.flags.config,
				"show: what the agents of the panel in `FILE` would be shown in the next turn, and how full their contexts are"),
			switchFlag("", "markdown", &c.markdown, "export: as Markdown, to read; it cannot be imported"),
		},
		verbs: []verb{
			{name: "list", about: "list them, those first that were used last", most: noArguments, flags: []string{"json"}, run: c.listSessions},
			{name: "show", arguments: "[ID]", about: "show one with its turns, without an ID the last; --json: the history too, as the next turn has it under the policy full", most: 1,
				flags: []string{"json", "config"}, run: c.showSession},
			{name: "search", arguments: "WORDS", about: "find words in titles, questions and winning answers", least: 1, run: c.searchSessions},
			{name: "rename", arguments: `ID "TITLE"`, about: "give one another title", least: 1, most: 2, run: c.renameSession},
			{name: "branch", arguments: "[ID] [TURN] [NEW_ID]", about: "copy one up to a turn, to go on from there", most: 3, run: c.branchSession},
			{name: "export", arguments: "[ID] [FILE]", about: "write one as JSONL, or as Markdown if FILE ends in .md or with --markdown; - is standard output", most: 2, flags: []string{"markdown"}, run: c.exportSession},
			{name: "import", arguments: "FILE", about: "take in what export wrote; - is standard input", least: 1, most: 1, flags: []string{"as"}, makes: true,
				run: c.importSession},
			{name: "delete", arguments: "ID...", about: "delete sessions; their branches stay", least: 1, run: c.deleteSessions},
			{name: "usage", arguments: "[ID]", about: "show what all of them have cost, or one", most: 1, flags: []string{"json"}, run: c.showUsage},
			{name: "compact", about: "make the file as small as it can be", most: noArguments, run: c.compactSessions},
		},
	}.cli(c.kept)
}

func (c *sessionsCommand) renameSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.pick(ctx, store, words, 1)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return errors.New(`the title is missing: massgen sessions rename ID "TITLE"`)
	case strings.TrimSpace(rest[0]) == "":
		return errors.New(`the title is empty, and lists show a session by it: massgen sessions rename ID "TITLE"`)
	}
	title := c.console.secrets.Redact(rest[0])
	if err := store.SetTitle(ctx, kept.ID, title); err != nil {
		return err
	}
	return c.console.put(fmt.Sprintf("%s is now %q\n", plain.Line(kept.ID), plain.Line(title)))
}

// branchSession takes the turn and the new id in this order; either may be left
// out. One that is a number is the turn.
func (c *sessionsCommand) branchSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.pick(ctx, store, words, 2)
	if err != nil {
		return err
	}
	from, to, turn := kept.ID, sessions.NewID(), 0
	if len(rest) > 0 {
		n, err := strconv.Atoi(rest[0])
		switch {
		case err == nil:
			turn, rest = n, rest[1:]
			if turn < 1 {
				return fmt.Errorf("turn %d: turns count from 1: %s has them", turn, c.kept.command("sessions", "show", from))
			}
		case len(rest) == 2:
			return fmt.Errorf("%q is no number of a turn: %s has them", shortened(rest[0], 40), c.kept.command("sessions", "show", from))
		}
	}
	if len(rest) > 0 {
		to = rest[0]
	}
	if err := checkNewID(to); err != nil {
		return err
	}
	if turn == 0 {
		var err error
		last, err := lastEnded(ctx, store, from)
		if err != nil {
			return err
		}
		turn = last.Number
	}
	made, err := store.Branch(ctx, from, turn, to)
	if errors.Is(err, sessions.ErrExists) {
		return fmt.Errorf("%w: name another", err)
	}
	if err != nil {
		return err
	}
	return c.console.put(fmt.Sprintf("%s goes on after turn %d of %s: %s\n", plain.Line(made.ID), turn, plain.Line(from), c.kept.asking(made.ID)))
}

// checkNewID refuses an id by which --session-id could not mean the session.
func checkNewID(id string) error {
	if err := sessions.CheckID(id); err != nil {
		return err
	}
	if id == newSession || id == lastSession || isPath(id) {
		return fmt.Errorf("the id %q would mean something else to --session-id: name another, without slashes and without .json, .jsonl or .db at its end", plain.Line(id))
	}
	return nil
}

// lastEnded is the last turn of a session that is over.
func lastEnded(ctx context.Context, store *store.Store, id string) (sessions.Turn, error) {
	last, err := store.Turns(ctx, id, 2)
	if err != nil {
		return sessions.Turn{}, err
	}
	for _, t := range slices.Backward(last) {
		if t.Status != sessions.Running {
			return t, nil
		}
	}
	return sessions.Turn{}, fmt.Errorf("session %s has no turn yet that is over", plain.Line(id))
}

// exportSession writes a session to a file, or to standard output. It masks what
// has become a secret since the session was kept, in both.
func (c *sessionsCommand) exportSession(ctx context.Context, store *store.Store, words []string) error {
	kept, rest, err := c.kept.pick(ctx, store, words, 1)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && isMarkdown(rest[0]):
		c.markdown = true
	}
	var dump bytes.Buffer
	if c.markdown {
		var turns []sessions.Turn
		if turns, err = store.Turns(ctx, kept.ID, 0); err == nil {
			dump.WriteString(inMarkdown(kept, turns))
		}
	} else {
		err = store.Export(ctx, kept.ID, &dump)
	}
	if err != nil {
		return err
	}
	text := c.console.secrets.Redact(dump.String())
	if !c.markdown && text != dump.String() {
		c.console.warn("sessions export: the session has a text that is a secret now; it is masked, and so the file cannot be imported")
	}
	if len(rest) == 0 {
		rest = []string{standardStream}
	}
	return putFile(c.env, c.console, rest[0], text)
}

// isMarkdown reports whether the name of a file has an ending of Markdown.
func isMarkdown(file string) bool {
	return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(file)))
}

// mostImported is how many bytes a file of a session may have.
const mostImported = 1 << 30

// openFile opens an ordinary file to read: a device may have no end, and a pipe no beginning.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file: copy what it has into one", path)
	case info.Size() > mostImported:
		return nil, fmt.Errorf("%s has %d bytes, and a session has at most %d", path, info.Size(), mostImported)
	}
	return os.Open(path)
}

// standardStream in place of a file is standard input or output.
const standardStream = "-"

// putFile writes a text to a file that is not there yet, or to standard output.
func putFile(env *Env, c *console, file, text string) error {
	if file != standardStream {
		return writeNew(file, text)
	}
	if isTerminal(env.Stdout) { // JSON and Markdown read the same with escapes for what would move the cursor; pages have none
		text = plain.Escape(text, "\n\t")
	}
	return c.put(text)
}

// writeNew writes a file that is not there yet, for nobody else to read.
func writeNew(file, text string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or remove it", file)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file)) // half a session is none
		}
	}()
	_, err = io.WriteString(f, text)
	return err
}

// importSession takes in what export wrote. A secret in it cannot be masked, since
// hashes hold the texts together, and as it stands it would be sent to models with the
// history: a file that has one is refused.
func (c *sessionsCommand) importSession(ctx context.Context, store *store.Store, words []string) (err error) {
	file := words[0]
	if err := checkNewID(c.as); c.as != "" && err != nil {
		return err
	}
	source := c.env.Stdin
	if file != standardStream {
		f, openErr := openFile(file)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		source = f
	}
	data, err := io.ReadAll(source)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := store.CheckSecrets(string(data)); err != nil {
		return fmt.Errorf("%s: %w; nothing was imported", file, err)
	}
	made, err := store.Import(ctx, bytes.NewReader(data), c.as)
	switch {
	case errors.Is(err, sessions.ErrExists):
		return fmt.Errorf("%w: --as ID imports it under another", err)
	case err != nil:
		return fmt.Errorf("%s: %w; nothing was imported", file, err)
	}
	if err := disown(ctx, store, made); err != nil {
		return err
	}
	return c.console.put(fmt.Sprintf("imported session %s, with %s\n", plain.Line(made.ID), plain.Count(made.Turns, "turn")))
}

// deleteSessions deletes nothing if one of the ids is wrong.
func (c *sessionsCommand) deleteSessions(ctx context.Context, store *store.Store, ids []string) error {
	for _, id := range ids {
		if err := c.kept.checkSession(ctx, store, id); err != nil {
			return err
		}
	}
	if c.kept.canAsk() {
		yes, err := c.kept.asks(fmt.Sprintf("%s will be deleted for good: %s.\nGo on?", plain.Count(len(ids), "session"), plain.Line(plain.List(ids))))
		if err != nil || !yes {
			return errors.Join(err, errors.New("nothing was deleted"))
		}
	}
	for _, id := range ids {
		if err := deleteSession(ctx, store, id); err != nil {
			return err
		}
		if err := c.console.put("deleted session " + plain.Line(id) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (c *sessionsCommand) compactSessions(ctx context.Context, store *store.Store, _ []string) error {
	before, err := storeSize(store.Path())
	if err != nil {
		return err
	}
	if err := store.Compact(ctx); err != nil {
		return err
	}
	after, err := storeSize(store.Path())
	if err != nil {
		return err
	}
	return c.console.put(fmt.Sprintf("before  %s bytes\nafter   %s bytes\n", plain.Thousands(int(before)), plain.Thousands(int(after))))
}

// storeSize is that of the file and of the log beside it.
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
