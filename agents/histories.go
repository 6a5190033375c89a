package agents

import (
	"context"
	"slices"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Histories keeps the histories that turns of some sessions showed whole, so that the next turn
// of a session reads and records only the new part. Its turns must have equally many agents. It
// is safe for concurrent use. The zero value is ready; nil keeps nothing.
type Histories struct {
	mu    sync.Mutex
	kept  map[blob.Ref]wholeHistory // by their newest links
	order []blob.Ref                // oldest first
}

// wholeHistory is a history, with its record as models read it, if there is one.
type wholeHistory struct {
	readTurns
	previous blob.Ref // the link before the newest
	told     sentHistory
}

// The most bytes that are kept of a session, and the most sessions.
const (
	mostHistories    = 16
	mostHistoryBytes = 4 << 20
)

// read returns the last turns of the history of a turn.
func (h *Histories) read(ctx context.Context, blobs Blobs, turn *effect.Turn, last int) (readTurns, error) {
	var read readTurns
	if turn.History == (blob.Ref{}) {
		return read, nil
	}
	note := func(text string) { read.repairs = append(read.repairs, text) }
	if h == nil || last != allTurns {
		var err error
		read.turns, err = readNoting(ctx, blobs, turn, last, note)
		return read, err
	}
	var previous blob.Ref
	var before wholeHistory
	isKnown := func(link blob.Ref) (ok bool) {
		if len(read.turns) == 1 {
			previous = link
		}
		before, ok = h.get(link)
		return ok
	}
	for past, err := range sessions.History(ctx, blobs, turn.History, isKnown) {
		if err != nil {
			return readTurns{}, err
		}
		exchange, err := exchangeOf(ctx, blobs, turn, past, note)
		if err != nil {
			return readTurns{}, err
		}
		read.turns = append(read.turns, exchange)
	}
	if len(read.turns) == 0 {
		return before.readTurns, nil
	}
	slices.Reverse(read.turns)
	read.turns = slices.Concat(before.turns, read.turns)
	read.repairs = append(read.repairs, before.repairs...)
	h.keep(turn.History, wholeHistory{readTurns: read, previous: previous})
	return read, nil
}

func (h *Histories) get(head blob.Ref) (wholeHistory, bool) {
	if h == nil {
		return wholeHistory{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	whole, ok := h.kept[head]
	return whole, ok
}

// keep keeps a history, unless it is too long.
func (h *Histories) keep(head blob.Ref, whole wholeHistory) {
	size := len(whole.told.text)
	for _, e := range whole.turns {
		size += bytesOf(e)
	}
	if size > mostHistoryBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		h.kept = map[blob.Ref]wholeHistory{}
	}
	if _, again := h.kept[head]; !again {
		h.order = append(h.order, head)
	}
	h.kept[head] = whole
	for len(h.order) > mostHistories {
		delete(h.kept, h.order[0])
		h.order = h.order[1:]
	}
}

// sendNext stores the newest turn's addition to a history whose earlier part is recorded and
// still stored.
func (h *Histories) sendNext(b *inputBuilder) (told sentHistory, ok bool) {
	whole, _ := h.get(b.turn.History)
	before, ok := h.get(whole.previous)
	if !ok || before.told.newest == (blob.Ref{}) || !b.has(before.told.newest) {
		return told, false
	}
	part := sentPartsFrom(b, len(b.shown)-1)[0]
	part.Previous = before.told.newest
	return sentHistory{
		newest: b.put(b.encodePart(part)), text: before.told.text + part.Text, count: before.told.count + len(part.Messages),
	}, true
}

// recordSent keeps the record of a history, in place of the record that it continues.
func (h *Histories) recordSent(head blob.Ref, told sentHistory) {
	whole, ok := h.get(head)
	if !ok {
		return
	}
	whole.told = told
	h.keep(head, whole)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.kept, whole.previous)
	h.order = slices.DeleteFunc(h.order, func(other blob.Ref) bool { return other == whole.previous })
}

// bytesOf returns about the memory of an exchange.
func bytesOf(e contextbuild.Exchange) int {
	size := len(e.Question) + len(e.Answer)
	for _, m := range e.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.Text:
				size += len(p.Text)
			case backends.Reasoning:
				size += len(p.Text)
			case backends.File:
				size += len(p.Data)
			case backends.Image:
				size += len(p.Data)
			case backends.ToolCall:
				size += len(p.Arguments)
			case backends.ToolResult:
				size += len(p.Content)
			case backends.Opaque:
				size += len(p.Data)
			}
		}
	}
	return size
}
