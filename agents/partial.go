package agents

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// heard is a model's message so far, in case its call breaks off. It is safe for concurrent use: an
// abandoned call may go on.
type heard struct {
	inJSON bool // the text is an object that names an act

	mu      sync.Mutex
	text    strings.Builder
	answers []string
	// begun has the pieces of the answers that have not arrived whole, in the order of their calls.
	begun []*begunAnswer
}

// begunAnswer is the arguments of a call of new_answer so far. Its index is that of the call's pieces.
type begunAnswer struct {
	index     int
	arguments strings.Builder
}

func newHeard(eff effect.Effect) heard {
	call, _ := eff.(effect.ModelCall)
	return heard{inJSON: call.JSON}
}

func (h *heard) add(ev backends.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch ev := ev.(type) {
	case backends.TextDelta:
		h.text.WriteString(ev.Text)
	case backends.ToolCallDelta:
		h.addPiece(ev)
	case backends.ToolCall:
		h.addAnswer(ev)
	}
}

func (h *heard) addPiece(piece backends.ToolCallDelta) {
	i := slices.IndexFunc(h.begun, func(b *begunAnswer) bool { return b.index == piece.Index })
	if i < 0 {
		if piece.Name != effect.NewAnswer {
			return
		}
		i, h.begun = len(h.begun), append(h.begun, &begunAnswer{index: piece.Index})
	}
	h.begun[i].arguments.WriteString(piece.Text)
}

// addAnswer adds the answer of a call, which replaces the call's pieces.
func (h *heard) addAnswer(call backends.ToolCall) {
	if call.Name == effect.NewAnswer {
		h.answers = append(h.answers, cutContent(effect.NewAnswer, call.Arguments))
		h.begun = h.begun[min(1, len(h.begun)):]
	}
}

// again forgets the pieces of an attempt that another one follows.
func (h *heard) again() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = nil
}

// partial returns the text that had arrived when a call ended with err: the text beside tools,
// and the answers, of which the last may be cut off.
func (h *heard) partial(err error) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var failed *backends.Error
	if errors.As(err, &failed) {
		for _, call := range failed.Cut {
			h.addAnswer(call)
		}
	}
	text := h.text.String()
	if content := cutContent("", text); h.inJSON && content != "" {
		text = content
	}
	said, parts := []string(nil), append([]string{text}, h.answers...)
	for _, begun := range h.begun {
		parts = append(parts, cutContent(effect.NewAnswer, begun.arguments.String()))
	}
	for _, s := range parts {
		if strings.TrimSpace(s) != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "\n\n")
}

// keepPartial stores the received part of a call that ended with err. It returns nothing if no
// text had arrived.
func (d *Doer) keepPartial(ctx context.Context, h *heard, err error) (blob.Ref, error) {
	text := contextbuild.Clean(h.partial(err))
	if text == "" {
		return blob.Ref{}, nil
	}
	return d.Blobs.Put(context.WithoutCancel(ctx), []byte(text))
}

// cutContent returns the content of an answer that may be cut anywhere: the arguments of
// new_answer, or the object in its place in JSON mode. It is empty for any other text.
func cutContent(act, object string) string {
	var content strings.Builder
	r := actReader{act: act, say: func(act, piece string) {
		if act == effect.NewAnswer {
			content.WriteString(piece)
		}
	}}
	r.add(object)
	return content.String() + r.unnamed()
}
