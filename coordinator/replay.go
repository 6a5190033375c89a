package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Recording reads journals and the texts that they name. It must be safe for concurrent use.
type Recording interface {
	sessions.Texts
	journalReader
}

// Replayed is the part of a recorded turn that a replay has confirmed.
type Replayed struct {
	// Events counts the events of the journal, Inputs the inputs that were compared. Unchecked
	// counts the calls without a recorded input: those of older programs, and those that never
	// returned.
	Events    int `json:"events"`
	Inputs    int `json:"inputs"`
	Unchecked int `json:"unchecked"`
	// Status, Winner and Answer are the turn's result, if it has one.
	Status kernel.Status `json:"status"`
	Winner string        `json:"winner"`
	Answer string        `json:"answer"`
	// Usage is the usage of all calls with a result.
	Usage budget.Usage `json:"usage"`
	// Unfinished are the calls without a result, in the order in which they began.
	Unfinished []UnfinishedCall `json:"unfinished"`
}

// UnfinishedCall is a call whose result a journal lacks.
type UnfinishedCall struct {
	// Agent is empty for a sidecall.
	Agent   string         `json:"agent,omitempty"`
	Round   int            `json:"round,omitempty"`
	Purpose effect.Purpose `json:"purpose"`
	// Number counts the calls of a step from 1.
	Number int `json:"number"`
	// Tool is the name of the tool of a tool call. Asked says that the call waits for a
	// person's permission.
	Tool  string `json:"tool,omitempty"`
	Asked bool   `json:"asked,omitempty"`
}

// Replay runs a turn again from its journal, and calls nothing. recorded is the turn as its session
// has it. The error is a *Difference for an input, a reply or a result that differs from the
// record. Otherwise it names a fault of the journal. Of a turn that was cut, only the usage is
// compared.
func Replay(ctx context.Context, r Recording, session string, recorded sessions.Turn) (Replayed, error) {
	replayed, err := replayTurn(ctx, r, session, recorded)
	if err != nil {
		return replayed, fmt.Errorf("replay turn %d of session %s: %w", recorded.Number, session, err)
	}
	return replayed, nil
}

func replayTurn(ctx context.Context, r Recording, session string, recorded sessions.Turn) (Replayed, error) {
	events, err := readJournal(ctx, r, session, recorded.Number)
	if err != nil {
		return Replayed{}, err
	}
	f, asked, err := followAll(ctx, r, events, true)
	if err != nil { // repeat in order, so that the report ends where the journal differs
		f, asked, err = followAll(ctx, r, events, false)
	}
	replayed := f.replayed(events)
	if err != nil {
		return replayed, err
	}
	if !f.machine.Over() {
		if recorded.Winner != "" {
			return replayed, fmt.Errorf("its journal ends before the turn does: calls without a result: %d", len(replayed.Unfinished))
		}
		return replayed, compareCut(f.machine, events, recorded)
	}
	replayed.Unfinished = []UnfinishedCall{} // the unfinished calls were cancelled
	replayed.Status = f.machine.Result().Status
	shown := report.New(f.machine, report.Source{Texts: agents.LookupIn(ctx, r)})
	if replayed.Winner, replayed.Answer, err = shown.Answer(); err != nil {
		return replayed, fmt.Errorf("read the answer: %w", err)
	}
	if recorded.Status == sessions.Running {
		return replayed, nil
	}
	question, err := r.Get(ctx, cmp.Or(asked, f.machine.Turn().Question))
	if err != nil {
		return replayed, fmt.Errorf("read the question: %w", err)
	}
	rebuilt := outcome{Status: replayed.Status, Winner: replayed.Winner, Answer: replayed.Answer, Question: string(question)}
	// The stored usage includes the calls that followed the answer only if the process lived to
	// add them.
	return replayed, compareResult(rebuilt, []budget.Usage{f.machine.AllUsage(), shown.Usage()}, recorded)
}

// followAll feeds a journal to a fresh machine, and compares its calls and replies, beside the
// machine or, to stop at the first difference, in between. asked is the question when the
// answer was committed.
func followAll(ctx context.Context, r Recording, events []turn.Event, beside bool) (f *follower, asked blob.Ref, err error) {
	f = newFollower(new(turn.Machine), r)
	f.rereads = true
	if beside {
		f.beside = compareBeside(ctx, &f.comparer, r)
		defer func() { err = cmp.Or(f.beside.wait(), err) }()
	}
	for _, ev := range events {
		if _, ok := ev.(turn.Committed); ok {
			asked = f.machine.Turn().Question
		}
		if _, err := f.follow(ctx, ev); err != nil {
			return f, asked, err
		}
	}
	return f, asked, nil
}

// replayed returns the follower's findings so far.
func (f *follower) replayed(events []turn.Event) Replayed {
	r := Replayed{Events: f.events, Inputs: f.checked, Unchecked: f.unchecked, Usage: report.Rounded(usageOf(events)), Unfinished: []UnfinishedCall{}}
	for _, w := range f.out {
		key := callKey(w.Turn, w.Key())
		call := UnfinishedCall{Agent: key.Agent, Round: key.Round, Purpose: w.Key().Purpose, Number: key.Index + 1}
		if w.Permission != nil {
			call.Tool, call.Asked = w.Permission.Name, true
		} else if tool, ok := w.Effect.(effect.ToolCall); ok {
			call.Tool = tool.Name
		}
		r.Unfinished = append(r.Unfinished, call)
	}
	return r
}
