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
	// masks hide the secrets of each text under way. mu guards each of them, too.
	masks map[toldText]*secrets.Stream
	// ended are the calls that are over. An abandoned call may go on to write, and its text is not published.
	ended map[effect.Key]bool
}

// toldText identifies a text of a call: its reasoning, an act or the text beside tools.
type toldText struct {
	call       effect.Key
	act        string
	isThinking bool
}

// observe publishes the next piece. The jobs call it.
func (t *toldTexts) observe(key effect.Key, told agents.Told) {
	text := toldText{key, told.Act, told.Thinking != ""}
	piece, isOpen := t.masked(text, told.Text+told.Thinking)
	switch {
	case !isOpen:
	case told.Tool != "":
		t.view.turn.events.add(report.ToolCalled{Actor: report.ActorOf(key, t.view.id), Call: key.CallID(t.view.id), Tool: told.Tool})
	default:
		t.publish(text, piece)
	}
}

// masked returns the part of a text that may be published now that its next piece came. isOpen is false if the call is
// over.
func (t *toldTexts) masked(text toldText, piece string) (masked string, isOpen bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended[text.call] {
		return "", false
	}
	begin := t.view.panel.opts.Masking
	if begin == nil || piece == "" {
		return piece, true
	}
	if t.masks == nil {
		t.masks = map[toldText]*secrets.Stream{}
	}
	if t.masks[text] == nil {
		t.masks[text] = begin()
	}
	return t.masks[text].Add(piece), true
}

func (t *toldTexts) publish(text toldText, piece string) {
	if piece == "" {
		return
	}
	actor, call := report.ActorOf(text.call, t.view.id), text.call.CallID(t.view.id)
	if text.isThinking {
		t.view.turn.events.add(report.Thinking{Actor: actor, Call: call, Text: piece})
	} else {
		t.view.turn.events.add(report.TextDelta{Actor: actor, Call: call, Act: text.act, Text: piece})
	}
}

// end publishes the held-back ends of a call's texts, or drops them if isVoid: another attempt of the call follows.
func (t *toldTexts) end(key effect.Key, isVoid bool) {
	texts := [...]toldText{{key, "", true}, {key, "", false}, {key, effect.Vote, false}, {key, effect.NewAnswer, false}}
	var rests [len(texts)]string
	t.mu.Lock()
	for i, text := range texts {
		if mask := t.masks[text]; mask != nil && !isVoid {
			rests[i] = mask.Rest()
		}
		delete(t.masks, text)
	}
	if !isVoid {
		if t.ended == nil {
			t.ended = map[effect.Key]bool{}
		}
		t.ended[key] = true
	}
	t.mu.Unlock()
	for i, text := range texts {
		t.publish(text, rests[i])
	}
}
