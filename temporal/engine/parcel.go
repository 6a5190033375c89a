package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// parcel is an effect in a few hundred bytes, with any number of agents. What grows with the
// agents or with a step stands in texts.
type parcel struct {
	// Key is the effect's key, and Tool is set for a tool call.
	Key  effect.Key `json:"key"`
	Tool bool       `json:"tool,omitempty"`
	// Effect lacks what the texts have. It is zero if Rest has it.
	Effect effectJSON `json:"effect,omitzero"`
	// Rest is the JSON of the Effect.
	Rest blob.Ref `json:"rest,omitzero"`
	// Answers are JSON lists of kernel.Answer, which the effects of a round share: those that the
	// effect shows, then those of each update in its transcript. Zero stands for no answers.
	Answers []blob.Ref `json:"answers,omitempty"`
	// Votable are the agents that the effect's offer lets a vote name, as ranges from, to.
	Votable []int `json:"votable,omitempty"`
}

// texter makes texts.
type texter struct {
	// put stores a text, and returns its reference.
	put func(text []byte) (blob.Ref, error)
	// last are the answers of the last list, with its reference: the effects of a round have the same.
	last    []kernel.Answer
	lastRef blob.Ref
}

// answers stores a list of answers.
func (t *texter) answers(list []kernel.Answer) (blob.Ref, error) {
	if t.lastRef != (blob.Ref{}) && slices.Equal(t.last, list) {
		return t.lastRef, nil
	}
	ref, err := t.json(list)
	if err == nil {
		t.last, t.lastRef = list, ref
	}
	return ref, err
}

// json stores a value as JSON.
func (t *texter) json(v any) (blob.Ref, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return blob.Ref{}, err
	}
	return t.put(data)
}

// parcelOf packs an effect. Whether a part becomes a text follows from what the effect has, and not
// from sizes: another version of the program encodes it in more or fewer bytes, and decides the same.
func parcelOf(e effect.Effect, to *texter) (p parcel, err error) {
	list := func(answers []kernel.Answer) []kernel.Answer {
		if len(answers) == 0 || err != nil {
			p.Answers = append(p.Answers, blob.Ref{})
			return answers
		}
		ref, putErr := to.answers(answers)
		p.Answers, err = append(p.Answers, ref), putErr
		return nil
	}
	p.Key = e.EffectKey()
	grows := false
	switch call := e.(type) {
	case effect.ModelCall:
		grows = len(call.Transcript)+len(call.Carried)+len(call.Notes)+len(call.Votes) > 0 || call.Summary != nil
		call.Offer.Shown = list(call.Offer.Shown)
		p.Votable, call.Offer.MayVote = ranges(call.Offer.MayVote)
		call.Transcript = slices.Clone(call.Transcript)
		for i, entry := range call.Transcript {
			if entry.Update != nil {
				update := *entry.Update
				update.Shown = list(update.Shown)
				call.Transcript[i].Update = &update
			}
		}
		p.Effect = effectOf(call)
	case effect.ToolCall:
		call.Shown = list(call.Shown)
		p.Effect, p.Tool = effectOf(call), true
	}
	if err == nil && grows {
		p.Rest, err = to.json(p.Effect)
		p.Effect = effectJSON{}
	}
	return p, err
}

// stub returns an effect of the same key and kind.
func (p parcel) stub() effect.Effect {
	if p.Tool {
		return effect.ToolCall{Key: p.Key}
	}
	return effect.ModelCall{Key: p.Key}
}

// effect unpacks an effect. Nobody may change what it returns: effects share it.
func (p parcel) effect(ctx context.Context, texts *agents.Cache) (effect.Effect, error) {
	packed := p.Effect
	if p.Rest != (blob.Ref{}) {
		var err error
		if packed, err = readText[effectJSON](ctx, texts, p.Rest); err != nil {
			return nil, err
		}
	}
	e, err := packed.effect()
	if err != nil {
		return nil, err
	}
	rest := p.Answers
	list := func(to *[]kernel.Answer) {
		if len(rest) == 0 {
			err = fmt.Errorf("the answers of effect %s are missing", e.EffectKey())
			return
		}
		ref := rest[0]
		rest = rest[1:]
		if ref != (blob.Ref{}) && err == nil {
			*to, err = readText[[]kernel.Answer](ctx, texts, ref)
		}
	}
	switch call := e.(type) {
	case effect.ModelCall:
		list(&call.Offer.Shown)
		if p.Votable != nil {
			call.Offer.MayVote = unranged(p.Votable)
		}
		call.Transcript = slices.Clone(call.Transcript)
		for i, entry := range call.Transcript {
			if entry.Update != nil {
				update := *entry.Update
				list(&update.Shown)
				call.Transcript[i].Update = &update
			}
		}
		return call, err
	case effect.ToolCall:
		list(&call.Shown)
		return call, err
	}
	return e, err
}

// ranges returns numbers that grow as ranges, or else the numbers.
func ranges(numbers []int) (ranges, rest []int) {
	if len(numbers) == 0 || !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		return nil, numbers
	}
	for i, n := range numbers {
		if i > 0 && n == numbers[i-1]+1 {
			ranges[len(ranges)-1] = n
			continue
		}
		ranges = append(ranges, n, n)
	}
	return ranges, nil
}

func unranged(ranges []int) (numbers []int) {
	for ; len(ranges) >= 2; ranges = ranges[2:] {
		for n := ranges[0]; n <= ranges[1]; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// readText reads a text as JSON. Nobody may change the value: all who read the text share it.
func readText[T any](ctx context.Context, texts *agents.Cache, ref blob.Ref) (T, error) {
	v, err := agents.ReadJSON[T](ctx, texts, ref)
	if err != nil {
		return v, fmt.Errorf("read a text of the turn's effects: %w", err)
	}
	return v, nil
}
