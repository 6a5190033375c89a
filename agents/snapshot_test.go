package agents_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// snapshotOf runs the snapshot of the analyst, who keeps it in its own way.
func snapshotOf(t *testing.T, w *world, purpose effect.Purpose, keep func(context.Context, agents.CallInfo) (agents.Snapshot, error)) effect.ToolReply {
	t.Helper()
	d := w.doer(nil)
	d.Members = make([]agents.Member, 3)
	d.Members[analyst].Snapshot = keep
	key := effect.Key{Agent: analyst, Round: 3, Purpose: purpose}
	ev, err := d.Perform(t.Context(), &w.turn, effect.ToolCall{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return ev.(effect.ToolReply)
}

func TestSnapshotIsKeptForItsAnswer(t *testing.T) {
	w := newWorld(t)
	want := agents.Snapshot{Dir: "/kept", Files: 2, Bytes: 1 << 40, LeftOut: []string{"pipe: it is no file"}}
	var of agents.CallInfo
	keep := func(_ context.Context, info agents.CallInfo) (agents.Snapshot, error) {
		of = info
		return want, nil
	}
	for purpose, final := range map[effect.Purpose]bool{effect.Snapshot: false, effect.FinalSnapshot: true} {
		r := snapshotOf(t, w, purpose, keep)
		if diff := cmp.Diff(agents.CallInfo{Session: "s", Turn: 2, Agent: "analyst", Round: 3, Final: final}, of); diff != "" {
			t.Errorf("%s is of (-want +got):\n%s", purpose, diff)
		}
		got, err := agents.ReadSnapshot(agents.LookupIn(t.Context(), w.store), r.Result)
		if diff := cmp.Diff(want, got); err != nil || r.Error || diff != "" {
			t.Errorf("%+v, %v: read back it is (-want +got):\n%s", r, err, diff)
		}
	}
	if got := w.text(snapshotOf(t, w, effect.Snapshot, keep).Result); got != `{"dir":"/kept","files":2,"bytes":1099511627776,"left_out":["pipe: it is no file"]}` {
		t.Errorf("it is stored as %s", got)
	}
	w.turn.Agents = w.turn.Agents[:1] // an agent alone gives its final answer at once
	d := agents.Doer{Blobs: w.store, Members: []agents.Member{{Snapshot: keep}}}
	if _, err := d.Perform(t.Context(), &w.turn, effect.ToolCall{Key: effect.Key{Purpose: effect.Snapshot}}); err != nil || !of.Final {
		t.Errorf("that of an agent alone is %+v, %v", of, err)
	}
}

func TestSnapshotThatCannotBeTaken(t *testing.T) {
	w := newWorld(t)
	for want, keep := range map[string]func(context.Context, agents.CallInfo) (agents.Snapshot, error){
		"no\uFFFD room": func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
			return agents.Snapshot{}, errors.New("no\x1b room")
		},
		"its call panicked: oh":       func(context.Context, agents.CallInfo) (agents.Snapshot, error) { panic("oh") },
		"the agent has none any more": nil,
	} {
		if r := snapshotOf(t, w, effect.Snapshot, keep); !r.Error || w.text(r.Result) != want {
			t.Errorf("%+v: %q, want %q", r, w.text(r.Result), want)
		}
	}
}

// TestToolsAreToldWherePeersWorkIs by the names that models know.
func TestToolsAreToldWherePeersWorkIs(t *testing.T) {
	w := newWorld(t)
	shown := w.answers(researcher, analyst, creative)
	shown[0].Work = w.putJSON(agents.Snapshot{Dir: "/kept/researcher"})
	shown[2].Work = w.putJSON(agents.Snapshot{Dir: "/kept/creative"})
	var info agents.CallInfo
	d := w.doer(nil)
	d.Members = make([]agents.Member, 3)
	d.Members[analyst].Tools = []agents.Tool{tool(func(ctx context.Context) (string, error) {
		info = agents.CallInfoOf(ctx)
		return "", nil
	})}
	call := effect.ToolCall{
		Key:     effect.Key{Agent: analyst, Round: 2, Purpose: effect.Tool},
		Message: w.message("", backends.ToolCall{Name: "work"}).Text, Name: "work", Shown: shown,
	}
	if _, err := d.Perform(t.Context(), &w.turn, call); err != nil {
		t.Fatal(err)
	}
	want := []agents.ShownAnswer{{Name: "agent3", Dir: "/kept/researcher"}, {Name: "agent1"}, {Name: "agent2", Dir: "/kept/creative"}}
	if diff := cmp.Diff(want, info.Answers); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
	for _, work := range []blob.Ref{{SHA256: "gone"}, w.put("no JSON")} {
		call.Shown[0].Work = work
		if _, err := d.Perform(t.Context(), &w.turn, call); err == nil {
			t.Errorf("work that cannot be read: no error")
		}
	}
}

func TestSnapshotOfAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	keep := func(context.Context, agents.CallInfo) (agents.Snapshot, error) {
		return agents.Snapshot{Dir: "/kept"}, nil
	}
	fails := func(context.Context, agents.CallInfo) (agents.Snapshot, error) { return agents.Snapshot{}, errDisk }
	for _, keep := range []func(context.Context, agents.CallInfo) (agents.Snapshot, error){keep, fails} {
		d := agents.Doer{Blobs: &failingStore{Blobs: w.store}, Members: []agents.Member{{Snapshot: keep}}}
		if _, err := d.Perform(t.Context(), &w.turn, effect.ToolCall{Key: effect.Key{Purpose: effect.Snapshot}}); !errors.Is(err, errDisk) {
			t.Errorf("no error of the store, but %v", err)
		}
	}
}
