package talk

import (
	"context"
	"fmt"
	"slices"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// PrintLast prints the last answer of the session that words name, else of the last session of this folder.
func PrintLast(ctx context.Context, p *program.Program, kept *store.Store, words []string) error {
	chosen, err := lastOf(ctx, p, kept, words)
	if err != nil {
		return err
	}
	turn, err := lastAnswered(ctx, kept, chosen.ID)
	switch {
	case err != nil:
		return err
	case turn.Winner == "":
		return fmt.Errorf("no turn of session %s has an answer: %s shows what was written", plain.Line(chosen.ID), p.Kept.Command("sessions", "show", chosen.ID))
	}
	p.Console.Say("%s", p.Console.Paint(cmdline.Faint, fmt.Sprintf("session: %s, turn %d: %s", plain.Line(chosen.ID), turn.Number, wording.Quoted(turn.Question))))
	a := answers{p.Console, p.Env, p.Watch, &p.Options.Display}
	if !cmdline.IsTerminal(p.Env.Stdout) {
		return p.Console.Put(wording.WithNewline(turn.Answer))
	}
	width, height := a.size()
	text := a.render(turn.Answer, width)
	if rowsOf(text, width) >= height && a.page(text) {
		return nil
	}
	return p.Console.Put("\n" + wording.WithNewline(text))
}

// lastOf returns the session that words name, else the last one of this folder.
func lastOf(ctx context.Context, p *program.Program, kept *store.Store, words []string) (sessions.Session, error) {
	if len(words) == 0 && !p.Options.Session.Anywhere && !p.Kept.IsFile() {
		return p.Kept.LastHere(ctx, kept)
	}
	chosen, _, err := p.Kept.Pick(ctx, kept, words, 0)
	return chosen, err
}

// lastAnswered returns the last turn of a session that has an answer, the zero turn if none has.
func lastAnswered(ctx context.Context, kept *store.Store, id string) (sessions.Turn, error) {
	for last := 1; ; last *= 8 { // mostly the last one has
		turns, err := kept.Sessions.Turns(ctx, id, last)
		if err != nil {
			return sessions.Turn{}, err
		}
		for _, t := range slices.Backward(turns) {
			if t.Winner != "" {
				return t, nil
			}
		}
		if len(turns) < last {
			return sessions.Turn{}, nil
		}
	}
}
