package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// packed are the effects of a panel in its second round, with all that grows with agents and steps.
func packed(n int) map[string]effect.Effect {
	ref := sessions.RefOf([]byte("a text"))
	ref.Bytes = 10 << 20
	offer := kernel.Offer{Set: n, MayAnswer: true}
	for i := range n {
		offer.Shown = append(offer.Shown, kernel.Answer{Agent: i, N: 1, Round: 1, Text: ref, Hash: ref.SHA256, Work: ref})
		if i != 1 {
			offer.MayVote = append(offer.MayVote, i)
		}
	}
	newer := offer
	newer.Shown = slices.Clone(offer.Shown)
	newer.Shown[0].N = 2
	key := effect.Key{Agent: n - 1, Round: 2, Purpose: effect.Coordination}
	call := effect.ModelCall{Key: key, Offer: offer, OwnTools: true}
	long := call
	long.Key.Index = 9
	for i := range 50 {
		entry := effect.Entry{Kind: effect.Result, Text: ref, CallID: strings.Repeat("c", 60), Name: strings.Repeat("n", 64)}
		if i == 20 {
			entry.Update = &newer
		}
		if i == 30 {
			entry.Update = &kernel.Offer{Set: 3}
		}
		long.Transcript = append(long.Transcript, entry)
	}
	last := call
	last.Key.Purpose, last.Notes = effect.Presentation, []blob.Ref{ref}
	for i := range n {
		last.Votes = append(last.Votes, kernel.Vote{Voter: i, For: 1, Reason: strings.Repeat("r", 200)})
	}
	return map[string]effect.Effect{
		"a first call": effect.ModelCall{Key: effect.Key{Round: 1, Purpose: effect.Coordination}, Offer: kernel.Offer{MayAnswer: true}},
		"a call":       call, "a call of a long step": long, "a presentation": last,
		"a tool call": effect.ToolCall{Key: key, Message: ref, Name: "search", Shown: offer.Shown},
		"a snapshot":  effect.ToolCall{Key: effect.Key{Purpose: effect.Snapshot}},
		"a sidecall":  effect.ModelCall{Key: effect.Key{Agent: effect.NoAgent, Purpose: effect.TopicDetection}, Sidecall: &effect.Sidecall{Purpose: effect.TopicDetection, Messages: ref}},
	}
}

// TestInputsStaySmall: an activity's input has less than 2 KB with any number of agents, and the effect
// is the same on the other side.
func TestInputsStaySmall(t *testing.T) {
	const most = 2000
	for _, n := range []int{3, 100, 1000} {
		for name, e := range packed(n) {
			store := sessions.NewMemory()
			inStore := func(text []byte) (blob.Ref, error) { return store.Put(t.Context(), text) }
			p, err := parcelOf(e, &texter{put: inStore})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := store.Begin(t.Context(), "s", "q"); err != nil {
				t.Fatal(err)
			}
			w := work{
				Session: strings.Repeat("s", 200), Owner: "temporal/" + strings.Repeat("o", 26), Parcel: &p, Limited: true, Priced: true,
				Turn: effect.Turn{Agents: make([]effect.Agent, n)}, Effect: effectOf(e), Described: sessions.RefOf([]byte("described")),
			}
			data, err := json.Marshal(sentOf(w))
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > most {
				t.Errorf("%s of %d agents has %d bytes, more than %d: %s", name, n, len(data), most, data)
			}
			var sent work
			if err := json.Unmarshal(data, &sent); err != nil {
				t.Fatal(err)
			}
			got, err := sent.Parcel.effect(t.Context(), agents.NewCache(store))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s of %d agents (-packed +unpacked):\n%s", name, n, diff)
			}
			if stub := sent.Parcel.stub(); stub.EffectKey() != e.EffectKey() || fmt.Sprintf("%T", stub) != fmt.Sprintf("%T", e) {
				t.Errorf("%s of %d agents is known as %T %s", name, n, stub, stub.EffectKey())
			}
		}
	}
}

// TestRoundsShareTheirAnswers: the texts of a round's calls do not grow with the square of the agents.
func TestRoundsShareTheirAnswers(t *testing.T) {
	size := func(n int) (sum int) {
		texts := map[blob.Ref]bool{}
		for agent := range n {
			call := packed(n)["a call of a long step"].(effect.ModelCall)
			call.Key.Agent = agent
			_, err := parcelOf(call, &texter{put: func(text []byte) (blob.Ref, error) {
				ref := sessions.RefOf(text)
				texts[ref] = true
				return ref, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for ref := range texts {
			sum += ref.Bytes
		}
		return sum
	}
	if small, large := size(20), size(40); large > 5*small/2 {
		t.Errorf("20 agents have %d bytes, and 40 have %d", small, large)
	}
}

func TestRanges(t *testing.T) {
	for _, numbers := range [][]int{nil, {0}, {0, 1, 2}, {0, 2, 3, 9}, {5}} {
		packed, rest := ranges(numbers)
		if got := unranged(packed); rest != nil || !slices.Equal(got, numbers) {
			t.Errorf("%v is %v, and then %v", numbers, packed, got)
		}
	}
	for _, numbers := range [][]int{{2, 1}, {1, 1}} {
		if packed, rest := ranges(numbers); packed != nil || !slices.Equal(rest, numbers) {
			t.Errorf("%v is %v and %v", numbers, packed, rest)
		}
	}
}

func TestCompressedStateIsTheSame(t *testing.T) {
	state := bytes.Repeat([]byte(`{"state": 1}`), 10_000)
	packed, err := compress(state)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decompress(packed); err != nil || !bytes.Equal(got, state) || len(packed) > len(state)/10 {
		t.Errorf("%d bytes become %d, and %d again: %v", len(state), len(packed), len(got), err)
	}
	if _, err := decompress([]byte("no state")); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("what is no state: %v", err)
	}
}
