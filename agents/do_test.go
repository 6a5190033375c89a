package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// failingStore works so many times, and then no more.
type failingStore struct {
	agents.Blobs
	works int
}

var errDisk = errors.New("the disk is full")

func (s *failingStore) use() error {
	s.works--
	if s.works < 0 {
		return errDisk
	}
	return nil
}

func (s *failingStore) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if err := s.use(); err != nil {
		return blob.Ref{}, err
	}
	return s.Blobs.Put(ctx, data)
}

func (s *failingStore) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if err := s.use(); err != nil {
		return nil, err
	}
	return s.Blobs.Get(ctx, ref)
}

// heedingStore refuses to work for who has cancelled, as databases do.
type heedingStore struct{ agents.Blobs }

func (s heedingStore) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if err := ctx.Err(); err != nil {
		return blob.Ref{}, err
	}
	return s.Blobs.Put(ctx, data)
}

func (s heedingStore) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Blobs.Get(ctx, ref)
}

// streams is a backend made of a function.
type streams func(context.Context, backends.Request) iter.Seq2[backends.Event, error]

func (s streams) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return s(ctx, req)
}

// failing is a backend whose calls begin to stream and then end with what err
// says.
func failing(err func(context.Context) error) streams {
	return func(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
		return func(yield func(backends.Event, error) bool) {
			if yield(backends.Usage{InputTokens: 9}, nil) && yield(backends.TextDelta{Text: "I th"}, nil) {
				yield(nil, err(ctx))
			}
		}
	}
}

func (w *world) doer(b backends.Backend) *agents.Doer {
	return &agents.Doer{Blobs: heedingStore{w.store}, Members: []agents.Member{
		{Backend: b, Tools: []agents.Tool{&search{}}, Headers: map[string]string{"X-Secret": "hush"}, ExtraBody: map[string]any{"token": "hush too"}},
	}}
}

func TestWhatMayBeSecretIsSentAndNotStored(t *testing.T) {
	w := newWorld(t)
	var sent backends.Request
	d := w.doer(streams(func(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
		sent = req
		return says{}.Stream(ctx, req)
	}))
	if _, err := d.Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination)); err != nil {
		t.Fatal(err)
	}
	if sent.Params.Headers["X-Secret"] != "hush" || sent.Params.ExtraBody["token"] != "hush too" || *sent.Params.Temperature != 0.5 {
		t.Errorf("sent with %+v", sent.Params)
	}
	if stored := w.text(w.turn.Agents[researcher].Params); strings.Contains(stored, "hush") {
		t.Errorf("the journal refers to %s", stored)
	}
}

func TestFailuresAreResults(t *testing.T) {
	auth := &backends.Error{Kind: backends.KindAuth, Provider: "openai", Message: "bad\x1b[31m key\xff"}
	for name, c := range map[string]struct {
		err  error
		want effect.Failure
	}{
		"of the provider": {auth, effect.Failure{Kind: "auth", Message: "openai: auth: bad\uFFFD[31m key\uFFFD"}},
		"of the network":  {fmt.Errorf("dial: %w", errDisk), effect.Failure{Kind: "network", Message: "dial: the disk is full"}},
		"of time":         {context.DeadlineExceeded, effect.Failure{Kind: "timeout", Message: "context deadline exceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ev, err := w.doer(failing(func(context.Context) error { return c.err })).Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination))
			if err != nil {
				t.Fatal(err)
			}
			r := ev.(effect.ModelReply)
			if r.Failure == nil || *r.Failure != c.want || r.Message != (blob.Ref{}) {
				t.Errorf("the reply is %+v with %+v, want %+v", r, r.Failure, c.want)
			}
			if r.Usage == nil || r.Usage.InputTokens != 9 {
				t.Errorf("what was told of the cost before the failure is lost: %+v", r.Usage)
			}
		})
	}
}

func TestCancelledCallIsAFailureOfItsOwnKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		d := w.doer(failing(func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("read: use of closed connection")
		}))
		ev, err := d.Perform(ctx, &w.turn, w.call(researcher, effect.Coordination))
		if err != nil {
			t.Fatal(err)
		}
		if f := ev.(effect.ModelReply).Failure; f == nil || f.Kind != string(backends.KindCancelled) || f.Message == "" {
			t.Errorf("the failure is %+v", f)
		}
	})
}

// TestReplyThatArrivedDespiteItsCancelIsKept: it was paid for, and a store that
// heeds the cancel must not lose it.
func TestReplyThatArrivedDespiteItsCancelIsKept(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	said := says{backends.TextDelta{Text: "whole"}, backends.Usage{OutputTokens: 3}}
	ev, err := w.doer(said).Perform(ctx, &w.turn, w.call(researcher, effect.Coordination))
	if err != nil {
		t.Fatal(err)
	}
	if r := ev.(effect.ModelReply); r.Failure != nil || w.text(r.Text) != "whole" || r.Usage == nil {
		t.Errorf("the reply is %+v", r)
	}
}

func TestObserverSeesWhatStreams(t *testing.T) {
	w := newWorld(t)
	d := w.doer(says{backends.TextDelta{Text: "a"}, toolCall("1", "search", "{}")})
	var seen []string
	d.Observe = func(k effect.Key, told agents.Told) {
		seen = append(seen, fmt.Sprintf("%s %s%s", k, told.Text, told.Tool))
	}
	if _, err := d.Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination)); err != nil {
		t.Fatal(err)
	}
	want := "agent=0 round=2 coordination.0 a, agent=0 round=2 coordination.0 search"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("observed %s", got)
	}
}

func TestToolCalls(t *testing.T) {
	for _, c := range []struct {
		name, arguments, want string
		failed                bool
	}{
		{"search", `{"q":"sun"}`, `found {"q":"sun"}`, false},
		{"search", "not JSON", "found not JSON", false},
		{"search", "control", "a\uFFFDb\uFFFDc", false},
		{"search", "one NUL", "a line of text\uFFFDand another", false},
		{"search", "binary", "Error: the tool search returned 3 bytes that are no text. Go on without them.", true},
		{"search", "fail", "Error: the index is\uFFFD[31m broken", true},
		{"search", "own form", `{"found":null}`, true},
		{"search", "panic", "Error: the tool search broke down (out of bounds). Go on without it.", true},
		{"gone", "{}", "Error: the tool gone is not there any more. Go on without it.", true},
	} {
		t.Run(c.name+" "+c.arguments, func(t *testing.T) {
			w := newWorld(t)
			entry := w.message("", backends.ToolCall{ID: "0", Name: "other"}, backends.ToolCall{ID: "1", Name: c.name, Arguments: c.arguments})
			eff := effect.ToolCall{Key: effect.Key{Purpose: effect.Tool, Index: 4}, Message: entry.Text, Call: 1, Name: c.name}
			ev, err := w.doer(nil).Perform(t.Context(), &w.turn, eff)
			if err != nil {
				t.Fatal(err)
			}
			r := ev.(effect.ToolReply)
			if got := w.text(r.Result); got != c.want || r.Error != c.failed || r.Index != 4 || r.Abandoned {
				t.Errorf("%+v: %q, want %q", r, got, c.want)
			}
		})
	}
}

func TestCancelledToolHasItsResult(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	eff := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "search", Arguments: "cancelled"}).Text, Name: "search"}
	ev, err := w.doer(nil).Perform(ctx, &w.turn, eff)
	if err != nil {
		t.Fatal(err)
	}
	r := ev.(effect.ToolReply)
	if got := w.text(r.Result); got != "Error: the call was cancelled" || !r.Error || r.State != effect.ToolCancelled {
		t.Errorf("%+v: %q", r, got)
	}
}

func TestToolCallOfADamagedMessage(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]effect.ToolCall{
		"missing":  {Message: blob.Ref{SHA256: "0123456789abcdef"}, Name: "search"},
		"not JSON": {Message: w.put("no JSON"), Name: "search"},
		"short":    {Message: w.message("", backends.ToolCall{Name: "search"}).Text, Call: 1, Name: "search"},
	} {
		if ev, err := w.doer(nil).Perform(t.Context(), &w.turn, c); err == nil {
			t.Errorf("%s: no error, but %+v", name, ev)
		}
	}
	call := effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "search"}).Text, Name: "search"}
	store := &failingStore{Blobs: w.store, works: 1}
	d := agents.Doer{Blobs: store, Members: []agents.Member{{}}}
	if _, err := d.Perform(t.Context(), &w.turn, call); !errors.Is(err, errDisk) {
		t.Errorf("a store that fails: %v", err)
	}
}

func TestUnknownEffectIsAnError(t *testing.T) {
	w := newWorld(t)
	if _, err := w.doer(nil).Perform(t.Context(), &w.turn, nil); err == nil {
		t.Error("no error")
	}
}

// TestDoerIsSafeForConcurrentUse has its point under the race detector.
func TestDoerIsSafeForConcurrentUse(t *testing.T) {
	w := newWorld(t)
	d := w.doer(says{backends.TextDelta{Text: "a"}, toolCall("1", "new_answer", `{"content":"b"}`)})
	d.Observe = func(effect.Key, agents.Told) {}
	effects := []effect.Effect{
		effect.ToolCall{Message: w.message("", backends.ToolCall{Name: "search"}).Text, Name: "search"},
		w.call(researcher, effect.Coordination, analyst),
	}
	var group sync.WaitGroup
	for i := range 8 {
		eff := effects[i%2]
		group.Go(func() {
			if _, err := d.Perform(t.Context(), &w.turn, eff); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestDescribeStoresWhatIsNoSecret(t *testing.T) {
	w := newWorld(t)
	a := w.describe("x", "You\x00 are.\n")
	if w.text(a.System) != "You\uFFFD are.\n" || a.ID != "x" || a.Model != "model-of-x" || a.Tools != (blob.Ref{}) {
		t.Errorf("described as %+v", a)
	}
	if got := w.text(a.Params); got != `{"temperature":0.5}` {
		t.Errorf("the parameters are stored as %s", got)
	}
	var tools []backends.Tool
	if err := json.Unmarshal([]byte(w.text(w.turn.Agents[0].Tools)), &tools); err != nil || len(tools) != 1 || tools[0].Name != "search" {
		t.Errorf("the tools are stored as %+v, %v", tools, err)
	}
	for works := range 3 {
		store := &failingStore{Blobs: w.store, works: works}
		if _, err := agents.Describe(t.Context(), store, "x", "", "", backends.Params{}, []agents.Tool{&search{}}); !errors.Is(err, errDisk) {
			t.Errorf("with a store that fails after %d uses: %v", works, err)
		}
	}
	if _, err := agents.PutJSON(t.Context(), w.store, func() {}); err == nil {
		t.Error("a function was stored as JSON")
	}
}

// TestUnsentCallsAreTold: whoever repeats effects knows that a call was not sent if the store has failed before it, and
// not after it.
func TestUnsentCallsAreTold(t *testing.T) {
	w := newWorld(t)
	for works, isOver := 0, false; !isOver; works++ {
		sent := 0
		d := w.doer(failing(func(context.Context) error { sent++; return nil }))
		d.Blobs = &failingStore{Blobs: w.store, works: works}
		_, err := d.Perform(t.Context(), &w.turn, w.call(researcher, effect.Coordination))
		if isOver = err == nil; isOver && works == 0 {
			t.Error("the store is not used")
		}
		if !isOver && errors.As(err, new(agents.UnsentError)) == (sent > 0) {
			t.Errorf("with a store that fails after %d uses, %d calls were sent: %v", works, sent, err)
		}
	}
}
