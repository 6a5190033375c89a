package retry_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/backendtest"
)

// fake calls then, if that is not nil, and answers each request with its text, then with
// its error or well.
type fake struct {
	text string
	// piece is a piece of a tool call.
	piece string
	err   error
	then  func()
	got   []backends.Request
}

func (f *fake) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		f.got = append(f.got, req)
		if f.then != nil {
			f.then()
		}
		switch {
		case f.piece != "" && !yield(backends.ToolCallDelta{Name: "new_answer", Text: f.piece}, nil):
		case f.text != "" && !yield(backends.TextDelta{Text: f.text}, nil):
		case f.err != nil:
			yield(nil, f.err)
		default:
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

func unusable(provider string, kind backends.Kind) *fake {
	return &fake{err: &backends.Error{Provider: provider, Kind: kind, Message: "no " + provider}}
}

// secretly is a request for one model of one service.
func secretly() backends.Request {
	temperature := 0.5
	return backends.Request{
		Key:      backends.Key{Turn: 1, Agent: "a", Round: 1, Purpose: "step"},
		Model:    "big",
		Messages: []backends.Message{backends.User("What is it?")},
		Params: backends.Params{
			Temperature: &temperature,
			Headers:     map[string]string{"X-Token": "for the first alone"},
			ExtraBody:   map[string]any{"top_k": 1},
		},
	}
}

// TestFallbackConformance: with no other model, and with one that is not needed, nothing is
// different from the backend inside.
func TestFallbackConformance(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, backendtest.Around(backendtest.ChatCompletions(), openai.New, func(inner *openai.Backend) backends.Backend {
		return retry.NewFallback("local", inner)
	}))
}

// TestRequestLargerThanTheAccountsLimitGoesToAnother: that limit is no limit of the other model.
func TestRequestLargerThanTheAccountsLimitGoesToAnother(t *testing.T) {
	first := &fake{err: &backends.Error{Provider: "one", Kind: backends.KindTooLong, Status: 429}}
	b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: &fake{text: "saved"}, Model: "small"})
	resp, err := backends.Collect(b.Stream(t.Context(), secretly()), nil)
	if err != nil || resp.Message.Text() != "saved" {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestWhichFailuresAreCured(t *testing.T) {
	for kind, want := range map[backends.Kind]bool{
		backends.KindAuth: true, backends.KindRateLimit: true, backends.KindOverloaded: true,
		backends.KindTooLong: false, backends.KindBadRequest: false, backends.KindRefused: false,
		backends.KindNetwork: false, backends.KindTimeout: false, backends.KindCancelled: false,
	} {
		first, second := unusable("one", kind), &fake{text: "saved"}
		b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
		resp, err := backends.Collect(b.Stream(t.Context(), secretly()), nil)
		if saved := err == nil && resp.Message.Text() == "saved"; saved != want || len(second.got) > 0 != want {
			t.Errorf("%s: answer %q, error %v", kind, resp.Message.Text(), err)
		}
		if !want && err != first.err {
			t.Errorf("%s: the error was changed to %v", kind, err)
		}
	}
}

// TestServiceThatIsNotThere is left for the next model, while one that broke may
// have been paid for.
func TestServiceThatIsNotThere(t *testing.T) {
	first, second := unusable("one", backends.KindNetwork), &fake{text: "saved"}
	first.err.(*backends.Error).Unreachable = true
	b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
	if resp, err := backends.Collect(b.Stream(t.Context(), secretly()), nil); err != nil || resp.Message.Text() != "saved" {
		t.Errorf("answer %q, error %v", resp.Message.Text(), err)
	}
}

func TestRequestOfEachChoice(t *testing.T) {
	first, second, third := unusable("one", backends.KindAuth), unusable("two", backends.KindRateLimit), &fake{text: "x"}
	extra := map[string]any{"min_p": 2}
	headers := map[string]string{"X-Own": "third"}
	b := retry.NewFallback("one", first,
		retry.Choice{Provider: "two", Backend: second, Model: "middle"},
		retry.Choice{Provider: "three", Backend: third, Model: "small", Headers: headers, ExtraBody: extra})
	var told []string
	ctx := backends.WithTrace(t.Context(), &backends.Trace{Fallback: func(f backends.FallbackInfo) {
		told = append(told, f.Key.Agent+": "+f.From+" > "+f.To+": "+f.Err.Error())
	}})
	if _, err := backends.Collect(b.Stream(ctx, secretly()), nil); err != nil {
		t.Fatal(err)
	}
	wantSecond, wantThird := secretly(), secretly()
	wantSecond.Model, wantSecond.Params.Headers, wantSecond.Params.ExtraBody = "middle", nil, nil
	wantThird.Model, wantThird.Params.Headers, wantThird.Params.ExtraBody = "small", headers, extra
	for i, want := range []backends.Request{secretly(), wantSecond, wantThird} {
		got := []*fake{first, second, third}[i].got
		if diff := cmp.Diff([]backends.Request{want}, got); diff != "" {
			t.Errorf("request %d differs (-want +got):\n%s", i+1, diff)
		}
	}
	want := []string{"a: one/big > two/middle: one: auth: no one", "a: two/middle > three/small: two: rate limit: no two"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
}

// TestRefusedKeyIsNotAskedAgain: each later call begins with the next model, and says so.
func TestRefusedKeyIsNotAskedAgain(t *testing.T) {
	for kind, want := range map[backends.Kind]int{backends.KindAuth: 1, backends.KindOverloaded: 3} {
		first, second := unusable("one", kind), &fake{text: "saved"}
		b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
		var known []bool
		ctx := backends.WithTrace(t.Context(), &backends.Trace{Fallback: func(f backends.FallbackInfo) {
			known = append(known, f.Known)
			if !errors.Is(f.Err, first.err) {
				t.Errorf("told %v", f.Err)
			}
		}})
		for range 3 {
			if resp, err := backends.Collect(b.Stream(ctx, secretly()), nil); err != nil || resp.Message.Text() != "saved" {
				t.Fatalf("answer %q, error %v", resp.Message.Text(), err)
			}
		}
		again := want == 1
		if len(first.got) != want || len(second.got) != 3 || !slices.Equal(known, []bool{false, again, again}) {
			t.Errorf("%s: %d and %d calls, known %v", kind, len(first.got), len(second.got), known)
		}
	}
	last := unusable("two", backends.KindAuth)
	b := retry.NewFallback("one", unusable("one", backends.KindAuth), retry.Choice{Provider: "two", Backend: last, Model: "small"})
	for range 2 {
		if _, err := backends.Collect(b.Stream(t.Context(), secretly()), nil); backends.KindOf(err) != backends.KindAuth {
			t.Error(err)
		}
	}
	if len(last.got) != 2 {
		t.Errorf("the last model was called %d times", len(last.got))
	}
}

func TestAllFail(t *testing.T) {
	last := unusable("three", backends.KindBadRequest)
	b := retry.NewFallback("one", unusable("one", backends.KindAuth),
		retry.Choice{Provider: "two", Backend: unusable("two", backends.KindOverloaded), Model: "middle"},
		retry.Choice{Provider: "three", Backend: last, Model: "small"},
		retry.Choice{Provider: "four", Backend: &fake{text: "never"}, Model: "none"})
	_, err := backends.Collect(b.Stream(t.Context(), secretly()), nil)
	var e *backends.Error
	if !errors.As(err, &e) || e.Kind != backends.KindBadRequest || !errors.Is(err, last.err) {
		t.Fatalf("the call ended with %v", err)
	}
	const want = "three: bad request: 3 models failed: one/big: one: auth: no one; two/middle: two: overloaded: no two; three/small: three: bad request: no three"
	if err.Error() != want {
		t.Errorf("the error is %q", err)
	}
}

// TestNotOnceItHasBegun: neither when events were seen nor when the error says so.
func TestNotOnceItHasBegun(t *testing.T) {
	seen := unusable("one", backends.KindOverloaded)
	seen.text = "half"
	said := unusable("one", backends.KindOverloaded)
	said.err.(*backends.Error).Begun = true
	for name, first := range map[string]*fake{"seen": seen, "said": said} {
		second := &fake{text: "whole"}
		b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
		resp, err := backends.Collect(b.Stream(t.Context(), secretly()), nil)
		if err != first.err || len(second.got) > 0 || strings.Contains(resp.Message.Text(), "whole") {
			t.Errorf("%s: %q, %v", name, resp.Message.Text(), err)
		}
	}
}

// TestPieceOfACallForbidsNothing: it is told, and no part of the answer.
func TestPieceOfACallForbidsNothing(t *testing.T) {
	first := unusable("one", backends.KindOverloaded)
	first.piece = "half"
	b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: &fake{text: "whole"}, Model: "small"})
	if resp, err := backends.Collect(b.Stream(t.Context(), secretly()), nil); err != nil || resp.Message.Text() != "whole" {
		t.Errorf("the other model: %q, %v", resp.Message.Text(), err)
	}
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{{piece: "half", err: failure(backends.KindNetwork)}, well()}}
		if resp, e := call(t.Context(), t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{})); e != nil || resp.Message.Text() != "fine" {
			t.Errorf("another attempt: %q, %v", resp.Message.Text(), e)
		}
	})
}

// TestReaderStops: it is no failure, and nothing else is called.
func TestReaderStops(t *testing.T) {
	first, second := unusable("one", backends.KindOverloaded), &fake{}
	first.text = "half"
	b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
	for _, err := range b.Stream(t.Context(), secretly()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(second.got) > 0 {
		t.Error("the second model was called")
	}
}

// TestCancelledMeanwhile: no other model is called, and none is said to be.
func TestCancelledMeanwhile(t *testing.T) {
	ctx, cancel := context.WithCancel(backends.WithTrace(t.Context(), &backends.Trace{
		Fallback: func(f backends.FallbackInfo) { t.Errorf("told %+v", f) },
	}))
	first, second := unusable("one", backends.KindAuth), &fake{text: "never"}
	first.then = cancel
	b := retry.NewFallback("one", first, retry.Choice{Provider: "two", Backend: second, Model: "small"})
	if _, err := backends.Collect(b.Stream(ctx, secretly()), nil); err != first.err || len(second.got) > 0 {
		t.Errorf("%d calls of the second model, %v", len(second.got), err)
	}
}

// TestForeignError: what is no *backends.Error is passed on.
func TestForeignError(t *testing.T) {
	odd := errors.New("odd")
	b := retry.NewFallback("one", unusable("one", backends.KindAuth), retry.Choice{Provider: "two", Backend: &fake{err: odd}, Model: "small"})
	if _, err := backends.Collect(b.Stream(t.Context(), secretly()), nil); err != odd {
		t.Errorf("the call ended with %v", err)
	}
}
