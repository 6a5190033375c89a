package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// recorder is a runtime that records each call of its methods as one line.
type recorder struct {
	lines []string
	full  error // of Append
}

func (r *recorder) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Now() kernel.Time { return 1000 }

func (r *recorder) Append(events []turn.Event, last bool) error {
	var kinds []string
	for _, ev := range events {
		kinds = append(kinds, strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", ev), "turn."), "kernel."))
	}
	if last {
		kinds = append(kinds, "at last")
	}
	r.add("append %s", strings.Join(kinds, " "))
	return r.full
}

func (r *recorder) Start(w Work)     { r.add("start %s", w.Key()) }
func (r *recorder) Begin(agent int)  { r.add("begin %d", agent) }
func (r *recorder) Cancel(agent int) { r.add("cancel %d", agent) }
func (r *recorder) Wake(kernel.Time) { r.add("wake") }
func (r *recorder) Clock(runs bool)  { r.add("clock %t", runs) }
func (r *recorder) Grant(key effect.Key, less int, refused string) {
	r.add("grant %s %d %q", key, less, refused)
}
func (r *recorder) Applied(turn.Event, []turn.Command) {}

// told returns what was written down since the last call.
func (r *recorder) told() []string {
	lines := r.lines
	r.lines = nil
	return lines
}

// post is one whose events and reply a test states.
type post struct {
	r      *recorder
	name   string
	events []turn.Event
	fault  error
	ends   bool
}

func (p post) Events(kernel.Time) ([]turn.Event, error) { return p.events, p.fault }
func (p post) EndsWork() bool                           { return p.ends }
func (p post) Reply(err error)                          { p.r.add("reply to %s: %v", p.name, err) }

func accepted(agents ...string) turn.Accepted {
	rules := kernel.Defaults()
	rules.Agents = agents
	described := effect.Turn{Session: "s", Turn: 1, Limits: effect.DefaultLimits()}
	for _, id := range agents {
		described.Agents = append(described.Agents, effect.Agent{ID: id})
	}
	return turn.Accepted{At: 1, Rules: rules, Turn: described}
}

func failed(agent int) turn.ModelDone {
	key := effect.Key{Agent: agent, Round: 1, Purpose: effect.Coordination}
	return turn.ModelDone{At: 2, Key: key, Reply: effect.ModelReply{Failure: &effect.Failure{Kind: "auth"}}}
}

// begun is a driver with a turn of two agents, both at work.
func begun(t *testing.T) (*Driver, *recorder) {
	t.Helper()
	r := &recorder{}
	d := New(r)
	if err := d.Handle(post{r, "question", []turn.Event{accepted("a", "b")}, nil, false}); err != nil {
		t.Fatal(err)
	}
	return d, r
}

func same(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.told()); diff != "" {
		t.Errorf("other calls of the runtime (-want +got):\n%s", diff)
	}
}

func TestNothingFollowsFromAnEventBeforeItIsDurable(t *testing.T) {
	_, r := begun(t)
	lines := r.told()
	if lines[0] != "append Accepted" || lines[len(lines)-1] != "reply to question: <nil>" {
		t.Errorf("the first and the last of %q", lines)
	}
}

func TestWhatWaitsIsOneBatch(t *testing.T) {
	d, r := begun(t)
	r.told()
	err := d.Handle(
		post{r, "first", []turn.Event{failed(0)}, nil, true},
		post{r, "late", nil, nil, false},
		post{r, "second", []turn.Event{failed(1)}, nil, true},
	)
	if err != nil || !d.Machine().Over() || d.out != 0 {
		t.Errorf("%v, over: %v, %d out", err, d.Machine().Over(), d.out)
	}
	same(t, r, "append ModelDone ModelDone", "cancel 0", "cancel 1", "reply to first: <nil>", "reply to late: <nil>", "reply to second: <nil>")
}

func TestWhatComesBeforeAFailedPostIsJournaled(t *testing.T) {
	d, r := begun(t)
	r.told()
	err := d.Handle(
		post{r, "first", []turn.Event{failed(0)}, nil, true},
		post{r, "broken", nil, errors.New("no store"), true},
		post{r, "after", []turn.Event{kernel.Interrupted{At: 3}}, nil, false},
	)
	if err == nil || err.Error() != "no store" || d.out != 0 {
		t.Errorf("%v, %d out", err, d.out)
	}
	same(t, r, "append ModelDone", "cancel 0", "reply to first: <nil>", "reply to broken: no store", "reply to after: no store")
}

func TestNothingIsDoneThatIsNotInTheJournal(t *testing.T) {
	d, r := begun(t)
	r.told()
	r.full = errors.New("disk full")
	if err := d.Handle(post{r, "first", []turn.Event{failed(0)}, nil, true}); err == nil || err.Error() != "disk full" {
		t.Error(err)
	}
	same(t, r, "append ModelDone", "reply to first: disk full")
}

// TestWhichEventsAreTheLast: after them nothing is out, nor about to be.
func TestWhichEventsAreTheLast(t *testing.T) {
	for _, c := range []struct {
		name    string
		batches [][]post
		want    []string
	}{
		{
			"two results", [][]post{{{name: "1", events: []turn.Event{failed(0)}, ends: true}}, {{name: "2", events: []turn.Event{failed(1)}, ends: true}}},
			[]string{"append ModelDone", "append ModelDone at last"},
		},
		{
			"an interrupt while calls are out", [][]post{{{name: "1", events: interrupted()}}, {{name: "2", events: []turn.Event{failed(0)}, ends: true}}, {{name: "3", events: []turn.Event{failed(1)}, ends: true}}},
			[]string{"append Interrupted", "append ModelDone", "append ModelDone at last"},
		},
	} {
		d, r := begun(t)
		r.told()
		for _, batch := range c.batches {
			var list []Post
			for _, p := range batch {
				p.r = r
				list = append(list, p)
			}
			if d.Done() {
				t.Errorf("%s: it is done before %v", c.name, batch)
			}
			if err := d.Play(list); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if !d.Done() {
			t.Errorf("%s: it is not done", c.name)
		}
		got := slices.DeleteFunc(r.told(), func(line string) bool { return !strings.HasPrefix(line, "append") })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	// An interrupt in the batch that begins the turn: the calls that it asks for are about to be out.
	r := &recorder{}
	d := New(r)
	begins := []Post{post{r, "question", []turn.Event{accepted("a", "b")}, nil, false}, post{r, "interrupt", interrupted(), nil, false}}
	if err := d.Play(begins); err != nil || !d.Machine().Over() || d.out != 2 {
		t.Errorf("%v, over: %v, %d out", err, d.Machine().Over(), d.out)
	}
	if lines := r.told(); lines[0] != "append Accepted Interrupted" {
		t.Errorf("it begins with %q", lines[0])
	}
}

// TestFailedTurnOnlyWaitsForItsWork: it applies nothing more, and is done when the work has ended.
func TestFailedTurnOnlyWaitsForItsWork(t *testing.T) {
	d, r := begun(t)
	r.told()
	if err := d.Play([]Post{post{r, "broken", nil, errors.New("no store"), true}}); err == nil || d.Done() {
		t.Errorf("%v, done: %v, with one call out", err, d.Done())
	}
	if err := d.Play([]Post{post{r, "note", interrupted(), nil, false}, post{r, "result", []turn.Event{failed(1)}, nil, true}}); err != nil || !d.Done() {
		t.Errorf("%v, done: %v", err, d.Done())
	}
	same(t, r, "reply to broken: no store", "reply to note: the turn is over", "reply to result: the turn is over")
}

func interrupted() []turn.Event { return []turn.Event{kernel.Interrupted{At: 3}} }
