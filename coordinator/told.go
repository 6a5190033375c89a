package coordinator

import (
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/secrets"
)

// toldTexts publishes what models write while their calls run, without secrets. It is safe for concurrent use.
type toldTexts struct {
	view *view
	mu   sync.Mutex
	// masks hide the secrets of each text under way.
	masks map[toldText]*secrets.Stream
}

// toldText identifies a text of a call: its reasoning, an act or the text beside tools.
type toldText struct {
	call       effect.Key
	act        string
	isThinking bool
}

// observe publishes the next piece. The jobs call it.
func (t *toldTexts) observe(key effect.Key, told agents.Told) {
	if told.Tool != "" {
		t.view.turn.events.add(report.ToolCalled{Actor: report.ActorOf(key, t.view.id), Call: key.CallID(t.view.id), Tool: told.Tool})
		return
	}
	text := toldText{key, told.Act, told.Thinking != ""}
	piece := told.Text + told.Thinking
	if mask := t.mask(text); mask != nil {
		piece = mask.Add(piece)
	}
	t.publish(text, piece)
}

// mask returns the mask of a text, nil if the panel has no secrets.
func (t *toldTexts) mask(text toldText) *secrets.Stream {
	begin := t.view.panel.opts.Masking
	if begin == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.masks == nil {
		t.masks = map[toldText]*secrets.Stream{}
	}
	if t.masks[text] == nil {
		t.masks[text] = begin()
	}
	return t.masks[text]
}

func (t *toldTexts) publish(text toldText, piece string) {
	actor, call := report.ActorOf(text.call, t.view.id), text.call.CallID(t.view.id)
	switch {
	case piece == "":
	case text.isThinking:
		t.view.turn.events.add(report.Thinking{Actor: actor, Call: call, Text: piece})
	default:
		t.view.turn.events.add(report.TextDelta{Actor: actor, Call: call, Act: text.act, Text: piece})
	}
}

// end publishes what was held back of a call's texts. If isVoid is true, it forgets that: another attempt follows.
func (t *toldTexts) end(key effect.Key, isVoid bool) {
	for _, text := range []toldText{{key, "", true}, {key, "", false}, {key, effect.Vote, false}, {key, effect.NewAnswer, false}} {
		t.mu.Lock()
		mask := t.masks[text]
		delete(t.masks, text)
		t.mu.Unlock()
		if mask != nil && !isVoid {
			t.publish(text, mask.Rest())
		}
	}
}
