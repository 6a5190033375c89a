package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/agents/workspace"
	"github.com/massgen/massgen/coordinator"
)

// makeHome makes this worker the home of a turn's tools. A folder that cannot be marked is
// one that no other worker is taken to see.
func (h *hands) makeHome(ctx context.Context) home {
	token := rand.Text()
	for _, folders := range h.panel.Folders() {
		for _, f := range folders {
			if err := workspace.Mark(f.Dir, token); err != nil {
				activity.GetLogger(ctx).Warn("tools cannot move to another worker", "error", err)
			}
		}
	}
	return home{Queue: h.home, Token: token}
}

// adopt says for which agents this worker sees the folders of a home that was lost. Agents
// that have none can have their tools here too. An agent that had lost its tools before does
// not get them back.
func (h *hands) adopt(ctx context.Context, from home) (adopted, error) {
	a := adopted{Queue: h.home, Lost: map[int]string{}}
	for i, folders := range h.panel.Folders() {
		if why := cmp.Or(from.Lost[i], unseen(ctx, folders, from.Token)); why != "" {
			a.Lost[i] = why
		}
	}
	return a, nil
}

// unseen says which of an agent's folders is not the one that was marked, "" if all are.
func unseen(ctx context.Context, folders []coordinator.Folder, token string) (why string) {
	for _, f := range folders {
		as, err := workspace.Marked(f.Dir, token)
		switch {
		case err != nil:
			activity.GetLogger(ctx).Warn("tools of a worker that was lost cannot go on here", "error", err)
			fallthrough
		case as == "":
			return fmt.Sprintf("no other one that was asked sees the same folder (%s)", f.Key)
		case f.ByPath && as != f.Dir:
			return fmt.Sprintf("no other one that was asked sees the same folder at the same path (%s)", f.Key)
		}
	}
	return ""
}

// unmark removes the markers of a turn from the folders that are seen here.
func (h *hands) unmark(_ context.Context, token string) error {
	var errs []error
	for _, folders := range h.panel.Folders() {
		for _, f := range folders {
			errs = append(errs, workspace.Unmark(f.Dir, token))
		}
	}
	return errors.Join(errs...)
}

// lostTools is the result of a call of tools that are lost, with what they have made.
func (h *hands) lostTools(ctx context.Context, store Store, w work) (result, error) {
	key := w.Effect.Tool.Key
	text := fmt.Sprintf("the worker on which the tools and files of %s were is lost, and %s", w.Turn.Agents[key.Agent].ID, w.Lost)
	if !w.Effect.Tool.IsSnapshot() { // else no model is told
		text = "Error: " + text + ". Go on without them."
	}
	ref, err := store.Put(ctx, []byte(text))
	return result{Tool: &machine.ToolReply{Index: key.Index, Result: ref, Error: true, State: machine.ToolInterrupted}}, err
}
