package talk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/tui"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostInputTurns is how many turns the list of inputs covers.
const mostInputTurns = 10

// keptCalls returns the model calls of the last turns, oldest first.
func (f *fullScreen) keptCalls(ctx context.Context) ([]debugbackend.Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.d.s
	turns, err := s.store.Sessions.Turns(ctx, s.chat.id, mostInputTurns)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	calls := archive.CallsOf(ctx, s.store.Sessions, s.chat.id, turns, s.console.Warn)
	place := func(c debugbackend.Call) int {
		return slices.IndexFunc(s.asked.config.Agents, func(a configs.Agent) bool { return a.ID == c.Request.Key.Agent })
	}
	slices.SortStableFunc(calls, func(a, b debugbackend.Call) int { // in the panel's order, whoever was first
		x, y := a.Request.Key, b.Request.Key
		return cmp.Or(x.Turn-y.Turn, x.Round-y.Round, place(a)-place(b))
	})
	return calls, nil
}

func (f *fullScreen) calls(ctx context.Context) (list []tui.Call, err error) {
	calls, err := f.keptCalls(ctx)
	for _, c := range calls {
		about := fmt.Sprintf("round %d · %s characters", c.Request.Key.Round, plain.Thousands(c.Chars.Total))
		list = append(list, tui.Call{Name: c.Name(), Agent: c.Request.Key.Agent, About: about})
	}
	return list, err
}

// input returns the input of a call, and its difference from the agent's call before.
func (f *fullScreen) input(ctx context.Context, name string) (tui.Input, error) {
	calls, err := f.keptCalls(ctx)
	if err != nil {
		return tui.Input{}, err
	}
	at := slices.IndexFunc(calls, func(c debugbackend.Call) bool { return c.Name() == name })
	if at < 0 {
		return tui.Input{}, errors.New("it is not kept")
	}
	var text, difference bytes.Buffer
	if err := debugbackend.Print(&text, calls[at:at+1]); err != nil {
		return tui.Input{}, err
	}
	before := at - 1
	for before >= 0 && calls[before].Request.Key.Agent != calls[at].Request.Key.Agent {
		before--
	}
	if before < 0 {
		difference.WriteString("This is the first call that is kept of " + calls[at].Request.Key.Agent + ": all of it is new.")
	} else if err := debugbackend.Diff(&difference, calls[before], calls[at]); err != nil {
		return tui.Input{}, err
	}
	return tui.Input{Text: text.String(), Difference: difference.String()}, nil
}
