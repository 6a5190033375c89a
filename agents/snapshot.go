package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Lookup returns the text that a reference names.
type Lookup func(ref blob.Ref) ([]byte, error)

// LookupIn returns a lookup in a store.
func LookupIn(ctx context.Context, store sessions.Texts) Lookup {
	return func(ref blob.Ref) ([]byte, error) { return store.Get(ctx, ref) }
}

// Snapshot is an agent's workspace at the time of an answer.
type Snapshot struct {
	// Dir is the folder of the copy, an absolute path, for reading only.
	Dir string `json:"dir"`
	// Files counts regular files, Bytes their content.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// LeftOut lists the parts of the workspace that the copy lacks and why, one line each.
	LeftOut []string `json:"left_out,omitempty"`
}

// takeSnapshot copies a workspace. If that fails, the answer has no snapshot, and the reply
// says why.
func (d *Doer) takeSnapshot(ctx context.Context, turn *effect.Turn, e effect.ToolCall) (effect.Reply, error) {
	stored := context.WithoutCancel(ctx)
	info, err := d.callInfo(stored, turn, e, nil)
	if err != nil {
		return nil, err
	}
	reply := effect.ToolReply{Index: e.Key.Index}
	taken, err := d.member(e.Key.Agent).snapshot(ctx, info)
	if err != nil {
		reply.Error = true
		reply.Result, err = d.Blobs.Put(stored, []byte(contextbuild.Clean(err.Error())))
		return reply, err
	}
	reply.Result, err = PutJSON(stored, d.Blobs, taken)
	return reply, err
}

func (m Member) snapshot(ctx context.Context, of CallInfo) (Snapshot, error) {
	if m.Snapshot == nil { // the turn began with a panel in which the agent had a workspace
		return Snapshot{}, errors.New("the agent has none any more")
	}
	return m.Snapshot(ctx, of)
}

// ReadSnapshot reads the snapshot that an answer's Work refers to, zero for an answer without
// one.
func ReadSnapshot(texts Lookup, work blob.Ref) (Snapshot, error) {
	if work == (blob.Ref{}) {
		return Snapshot{}, nil
	}
	s := new(Snapshot) // is on the heap, and most answers have none
	data, err := texts(work)
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return *s, fmt.Errorf("read the place of a snapshot: %w", err)
	}
	return *s, nil
}
