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

// readJSON reads a text as JSON; a zero reference is the zero value.
func readJSON[T any](texts Lookup, ref blob.Ref) (v T, err error) {
	if ref == (blob.Ref{}) {
		return v, nil
	}
	data, err := texts(ref)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("blob %.12s: %w", ref.SHA256, err)
	}
	return v, nil
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
// has the error.
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
	s, err := readJSON[Snapshot](texts, work)
	if err != nil {
		return s, fmt.Errorf("read the place of a snapshot: %w", err)
	}
	return s, nil
}
