package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// breaking says some events and then fails.
func breaking(err error, events ...backends.Event) streams {
	return func(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
		return func(yield func(backends.Event, error) bool) {
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			yield(nil, err)
		}
	}
}

func cutError(arguments ...string) error {
	e := &backends.Error{Kind: backends.KindNetwork, Provider: "p", Message: "cut", Begun: true}
	for _, a := range arguments {
		e.Cut = append(e.Cut, backends.ToolCall{ID: "c", Name: effect.NewAnswer, Arguments: a})
	}
	return e
}

func TestWhatHadComeOfAFailedCallIsKept(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		inJSON  bool
		backend streams
		want    string
	}{
		"nothing":                  {backend: breaking(cutError())},
		"blank":                    {backend: breaking(cutError(), backends.TextDelta{Text: " \n"})},
		"text":                     {backend: breaking(cutError(), backends.TextDelta{Text: "half "}, backends.TextDelta{Text: "a text\x1b"}), want: "half a text\uFFFD"},
		"thinking":                 {backend: breaking(cutError(), backends.ReasoningDelta{Text: "hm"})},
		"text that is like JSON":   {backend: breaking(cutError(), backends.TextDelta{Text: `say {"content":"x"} and`}), want: `say {"content":"x"} and`},
		"an answer that was begun": {backend: breaking(cutError(`{"content":"half an ans`), backends.TextDelta{Text: "Here:"}), want: "Here:\n\nhalf an ans"},
		"a letter in an escape":    {backend: breaking(cutError(`{"content":"a\u000é rest`)), want: `a\u000é rest`},
		"a whole answer":           {backend: breaking(cutError(), toolCall("1", effect.NewAnswer, `{"content":"whole"}`)), want: "whole"},
		"another tool": {backend: breaking(&backends.Error{Cut: []backends.ToolCall{{Name: "search", Arguments: `{"content":"x`}}},
			toolCall("1", "search", `{"content":"y"}`))},
		"an object in place of a tool": {inJSON: true, backend: breaking(cutError(), backends.TextDelta{Text: `{"action":{"name":"new_answer","content":"half\n`}), want: "half"},
		"no object in place of a tool": {inJSON: true, backend: breaking(cutError(), backends.TextDelta{Text: "half"}), want: "half"},
	} {
		t.Run(name, func(t *testing.T) {
			call := w.call(researcher, effect.Coordination)
			call.JSON = c.inJSON
			ev, err := w.doer(c.backend).Perform(t.Context(), &w.turn, call)
			if err != nil {
				t.Fatal(err)
			}
			reply := ev.(effect.ModelReply)
			if got := w.text(reply.Partial); strings.TrimRight(got, "\n") != c.want {
				t.Errorf("kept is %q, want %q", got, c.want)
			}
			if reply.Failure == nil || reply.Message.Bytes+reply.Text.Bytes+len(reply.Calls) != 0 {
				t.Errorf("the rules are told of a message: %+v", reply)
			}
		})
	}
	if reply := w.reply(w.call(researcher, effect.Coordination), backends.TextDelta{Text: "whole"}); reply.Partial.Bytes != 0 {
		t.Errorf("of a whole message a part is kept: %q", w.text(reply.Partial))
	}
}

// TestCutAnswerIsABeginning: wherever the arguments are cut, what is kept is a beginning
// of the answer, and lacks no more than a character of what had come.
func TestCutAnswerIsABeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.StringOf(rapid.RuneFrom([]rune("ab\"\\\n{}é😀"))).Draw(rt, "content")
		object, err := json.Marshal(map[string]string{"content": content})
		if err != nil {
			rt.Fatal(err)
		}
		cut := string(object)[:rapid.IntRange(0, len(object)).Draw(rt, "cut")]
		ev, err := w.doer(breaking(cutError(cut))).Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination))
		if err != nil {
			rt.Fatal(err)
		}
		got := strings.TrimRight(w.text(ev.(effect.ModelReply).Partial), "\uFFFD")
		if !strings.HasPrefix(content, got) {
			rt.Fatalf("%q, cut to %q, gives %q", content, cut, got)
		}
		whole, err := json.Marshal(map[string]string{"content": got})
		if err != nil {
			rt.Fatal(err)
		}
		if had := len(cut) - len(strings.TrimSuffix(string(whole), `"}`)); strings.TrimSpace(got) != "" && had > 6 {
			rt.Fatalf("of %q only %q is kept", cut, got)
		}
	})
}

func TestWhatHadComeOfALostCallIsKept(t *testing.T) {
	said := backends.TextDelta{Text: "so far"}
	release := make(chan struct{})
	for name, after := range map[string]func(){
		"abandoned": func() { <-release },
		"panic":     func() { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				w := newWorld(t)
				d := w.doer(streams(func(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
					return func(yield func(backends.Event, error) bool) {
						if yield(said, nil) {
							after()
						}
						if yield(said, nil) {
							yield(nil, cutError())
						}
					}
				}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				ev, err := d.Perform(ctx, &w.turn, w.call(researcher, effect.Coordination))
				if err != nil {
					t.Fatal(err)
				}
				reply := ev.(effect.ModelReply)
				if got := w.text(reply.Partial); got != "so far" || reply.Failure.Abandoned != (name == "abandoned") {
					t.Errorf("kept is %q, and the failure %+v", got, reply.Failure)
				}
				close(release)
			})
		})
	}
}

// TestPiecesOfAnAnswerAreKept if its call is lost before it came whole, and only those of the last attempt.
func TestPiecesOfAnAnswerAreKept(t *testing.T) {
	piece := func(index int, name, text string) backends.Event {
		return backends.ToolCallDelta{Index: index, Name: name, Text: text}
	}
	for name, c := range map[string]struct {
		events []backends.Event
		want   string
	}{
		"half": {[]backends.Event{piece(1, effect.NewAnswer, `{"content":"half `), piece(0, "search", `{"content":"x`), piece(1, "", "an ans")}, "half an ans"},
		"whole, and another half": {[]backends.Event{
			piece(0, effect.NewAnswer, `{"content":"whole"}`), toolCall("1", effect.NewAnswer, `{"content":"whole"}`), piece(1, effect.NewAnswer, `{"content":"ha`),
		}, "whole\n\nha"},
		"another attempt": {[]backends.Event{piece(0, effect.NewAnswer, `{"content":"first`), nil, piece(0, effect.NewAnswer, `{"content":"sec`)}, "sec"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, release := newWorld(t), make(chan struct{})
				defer close(release)
				d := w.doer(streams(func(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
					return func(yield func(backends.Event, error) bool) {
						for _, ev := range c.events {
							if ev == nil {
								backends.TraceFrom(ctx).WillRetry(backends.RetryInfo{Err: cutError()})
							} else if !yield(ev, nil) {
								return
							}
						}
						<-release
						yield(nil, cutError())
					}
				}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				ev, err := d.Perform(ctx, &w.turn, w.call(researcher, effect.Coordination))
				if err != nil {
					t.Fatal(err)
				}
				reply := ev.(effect.ModelReply)
				if got := w.text(reply.Partial); got != c.want || !reply.Failure.Abandoned {
					t.Errorf("kept is %q, and the failure %+v", got, reply.Failure)
				}
			})
		})
	}
}

func TestFullDiskDoesNotKeepWhatHadComeInSilence(t *testing.T) {
	w := newWorld(t)
	works := 0
	for ; ; works++ {
		d := w.doer(breaking(cutError(), backends.TextDelta{Text: "half"}))
		d.Blobs = &failingStore{Blobs: w.store, works: works}
		ev, err := d.Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination))
		if err == nil {
			if ev.(effect.ModelReply).Partial.Bytes == 0 {
				t.Error("nothing is kept")
			}
			break
		}
		if !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
	}
	if works == 0 {
		t.Error("the store was not used")
	}
}
