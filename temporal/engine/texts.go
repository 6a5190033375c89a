package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// turnTexts are the texts that this run of a turn has stored for its effects. While the turn holds
// its session, no sweep forgets them.
type turnTexts struct {
	// stored has the reference under which the store has a text, by that of the text here: the store
	// masks secrets.
	stored map[blob.Ref]blob.Ref
	// described is the text of the description turn.
	described blob.Ref
	turn      effect.Turn
}

// refs maps references of texts here to those of the store.
type refs func(blob.Ref) blob.Ref

// pack fills in the parcels of works that have none, and stores their texts by one local activity.
func pack(p *player, list []begunWork) error {
	var texts [][]byte
	var missing []blob.Ref
	inStore := refs(func(ref blob.Ref) blob.Ref { return p.texts.stored[ref] })
	put := func(text []byte) (blob.Ref, error) {
		ref := sessions.RefOf(text)
		if _, isKnown := p.texts.stored[ref]; !isKnown {
			p.texts.stored[ref] = ref
			texts, missing = append(texts, text), append(missing, ref)
		}
		return ref, nil
	}
	lists := texter{put: put}
	for i, w := range list {
		if w.Effect == nil || w.sent != nil {
			continue
		}
		if !reflect.DeepEqual(p.texts.turn, *w.Turn) {
			data, err := json.Marshal(w.Turn)
			if err != nil {
				return err
			}
			if p.texts.described, err = put(data); err != nil {
				return err
			}
			p.texts.turn = *w.Turn
		}
		packed, err := parcelOf(w.Effect, &lists)
		if err != nil {
			return err
		}
		sent := p.work(w.Work)
		sent.Parcel, sent.Described = &packed, p.texts.described
		list[i].sent = &sent
	}
	if len(texts) > 0 {
		var stored []blob.Ref
		if err := workflow.ExecuteLocalActivity(patiently(p.root, mostWrite), putTextsName, newTexts{p.in.Owner, texts}).Get(p.root, &stored); err != nil {
			return err
		}
		for i, ref := range stored {
			p.texts.stored[missing[i]] = ref
		}
	}
	for i, w := range list {
		if w.sent != nil && !w.isNamed {
			w.sent.rename(inStore)
			list[i].isNamed = true
		}
	}
	return nil
}

// rename changes the references of a message's texts.
func (w *work) rename(to refs) {
	change := func(ref *blob.Ref) {
		if known := to(*ref); known != (blob.Ref{}) {
			*ref = known
		}
	}
	change(&w.Described)
	change(&w.Parcel.Rest)
	for i := range w.Parcel.Answers {
		change(&w.Parcel.Answers[i])
	}
}

// putTexts stores texts for the effects of a turn.
func (h *activities) putTexts(ctx context.Context, n newTexts) ([]blob.Ref, error) {
	t, leave := h.turn(n.Owner)
	defer leave()
	return t.store.putAll(ctx, n.Texts)
}

// open reads what a message's texts have into the message.
func (t *turnAtWork) open(ctx context.Context, w *work) error {
	if w.Parcel == nil {
		return nil
	}
	described, err := readText[effect.Turn](ctx, t.texts, w.Described)
	if err != nil {
		return err
	}
	e, err := w.Parcel.effect(ctx, t.texts)
	if err != nil {
		return err
	}
	w.Turn, w.Effect, w.Parcel = described, effectOf(e), nil
	return t.fetchAnswers(ctx, e)
}

// unopened returns the error of an effect whose message could not be read. If a text is forgotten because the turn no
// longer holds its session, no try would read the message.
func (t *turnAtWork) unopened(ctx context.Context, w work, err error) error {
	if errors.Is(err, sessions.ErrNoText) {
		if _, isHeld, heldErr := t.store.Held(ctx, w.Session); heldErr == nil && !isHeld {
			return refusal(refusedKind, errors.Join(notHeld(w.Session), err))
		}
	}
	return unsent(err)
}

// notHeld is the error of a turn whose session another process has taken.
func notHeld(session string) error { return fmt.Errorf("the turn no longer holds session %s", session) }

// fetchAnswers reads the texts of the answers that a model call shows with one query.
func (t *turnAtWork) fetchAnswers(ctx context.Context, e effect.Effect) error {
	call, ok := e.(effect.ModelCall)
	if !ok {
		return nil
	}
	var refs []blob.Ref
	for _, a := range call.Current().Shown {
		refs = append(refs, a.Text)
	}
	return t.store.fetch(ctx, refs)
}

// sentOf returns what an activity gets of a work.
func sentOf(w work) work {
	if w.Parcel != nil {
		w.Turn, w.Effect = effect.Turn{}, effectJSON{}
	}
	return w
}
