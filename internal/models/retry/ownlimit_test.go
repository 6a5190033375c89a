package retry_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// window refuses each request whose output does not fit beside an input of 300 tokens. says is its
// refusal, with the output in place of %d.
type window struct {
	size int
	says string
	got  []int // the output limits of the requests, 0 for no limit
}

func (w *window) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		most := 0
		if req.Params.MaxTokens != nil {
			most = *req.Params.MaxTokens
		}
		w.got = append(w.got, most)
		if most+300 > w.size || w.size <= 300 {
			yield(nil, &backends.Error{Kind: backends.KindTooLong, Status: 400, Message: fmt.Sprintf(w.says, most)})
			return
		}
		if yield(backends.TextDelta{Text: "Rome."}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

func askWindow(t *testing.T, w *window, own bool, calls int) error {
	t.Helper()
	b := retry.New(w, newGate("local", retry.Limits{}), retry.Options{OwnLimit: own, MaxAttempts: 1})
	var err error
	for range calls {
		most := 8192
		_, err = backends.Collect(b.Stream(t.Context(), backends.Request{Model: "m", Messages: []backends.Message{backends.User("?")}, Params: backends.Params{MaxTokens: &most}}), nil)
	}
	return err
}

// TestOwnLimitThatDoesNotFit: a service that refuses the program's own output limit is asked once more.
func TestOwnLimitThatDoesNotFit(t *testing.T) {
	const vllm = "'max_tokens' or 'max_completion_tokens' is too large: %[1]d. This model's maximum context length is 8192 tokens and your request has 300 input tokens (%[1]d > 8192 - 300)."
	for _, c := range []struct {
		name  string
		size  int
		says  string
		calls int
		want  []int
		fails bool
	}{
		{name: "vLLM", size: 8192, says: vllm, calls: 1, want: []int{8192, 7892}},
		{name: "later calls", size: 8192, says: vllm, calls: 3, want: []int{8192, 7892, 0, 0}},
		{name: "older vLLM", size: 8300, says: "This model's maximum context length is 8300 tokens. However, you requested 8492 tokens (300 in the messages, %d in the completion). Please reduce the length of the messages or completion.", calls: 2, want: []int{8192, 8000, 8192, 8000}},
		{name: "newer vLLM does not count the input", size: 4096, says: "This model's maximum context length is 4096 tokens. However, you requested %d output tokens and your prompt contains at least 1 input tokens, for a total of at least 4097 tokens.", calls: 1, want: []int{8192, 0}},
		{name: "SGLang", size: 4096, says: "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 8492 tokens: 300 tokens from the input messages and %d tokens for the completion.", calls: 1, want: []int{8192, 3796}},
		{name: "TGI", size: 2048, says: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 300 `inputs` tokens and %d `max_new_tokens`", calls: 1, want: []int{8192, 1748}},
		{name: "Claude", size: 5000, says: "input length and `max_tokens` exceed context limit: 300 + %d > 5000, decrease input length or `max_tokens` and try again", calls: 1, want: []int{8192, 4700}},
		{name: "a limit of the output", size: 4396, says: "max_tokens is too large: %d. This model supports at most 4096 completion tokens.", calls: 1, want: []int{8192, 4096}},
		{name: "Claude's limit of the output", size: 4396, says: "max_tokens: %d > 4096, which is the maximum allowed number of output tokens for claude-3-haiku", calls: 1, want: []int{8192, 4096}},
		{name: "words without numbers", size: 4096, says: "max_tokens %d exceeds the limit", calls: 1, want: []int{8192, 0}},
		{name: "an input that is too long", size: 300, says: "This model's maximum context length is 300 tokens. However, you requested 8492 tokens (300 in the messages, %d in the completion).", calls: 1, want: []int{8192}, fails: true},
		{name: "an input that is too long, without a count", size: 300, says: "max_tokens %d exceeds the limit", calls: 1, want: []int{8192, 0}, fails: true},
		{name: "words about the input alone", size: 300, says: "the request exceeds the available context size (%d)", calls: 1, want: []int{8192}, fails: true},
	} {
		w := &window{size: c.size, says: c.says}
		err := askWindow(t, w, true, c.calls)
		if diff := cmp.Diff(c.want, w.got); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s", c.name, err, diff)
		}
	}
}

// TestChosenLimitThatDoesNotFit: what the user asked for stays.
func TestChosenLimitThatDoesNotFit(t *testing.T) {
	w := &window{size: 8192, says: "max_tokens %d is too large"}
	if err := askWindow(t, w, false, 1); err == nil || len(w.got) != 1 {
		t.Errorf("%v after %v", err, w.got)
	}
}
