package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// visit is how far the walk has come with a state.
type visit uint8

const (
	_ visit = iota // not seen
	onPath
	done
)

// walk visits every state that a turn can come to, depth first, and checks every
// step on the way to it.
type walk struct {
	seen  map[key]visit
	path  []Event
	steps int
}

// from walks on from a state that has not been seen, whose key is id. It may change the state.
func (k *walk) from(w world, id key) error {
	k.seen[id] = onPath
	if len(k.seen)%101 == 0 {
		if err := errors.Join(checkRoundTrip(w), checkEarlyWake(w), checkRefusals(w)); err != nil {
			return k.wrong(err)
		}
	}
	next := w.next()
	for i, ev := range next {
		k.path = append(k.path, ev)
		after := w
		if i+1 < len(next) { // the last event may change the state itself: nothing follows it
			after = w.clone()
		}
		if err := after.apply(ev); err != nil {
			return k.wrong(err)
		}
		k.steps++
		to := after.key()
		switch seen := k.seen[to]; {
		case seen == onPath:
			return k.wrong(errors.New("a cycle: this state was there before"))
		case seen == done:
		case after.m.Over():
			k.seen[to] = done
			if err := after.checkEnd(); err != nil {
				return k.wrong(err)
			}
		default:
			if err := k.from(after, to); err != nil {
				return err
			}
		}
		k.path = k.path[:len(k.path)-1]
	}
	k.seen[id] = done
	return nil
}

// wrong adds to a violation the events that led to it.
func (k *walk) wrong(err error) error {
	var b strings.Builder
	for _, ev := range k.path {
		fmt.Fprintf(&b, "\n  %T%+v", ev, ev)
	}
	return fmt.Errorf("violation: %w, after%s", err, b.String())
}

// checkRoundTrip holds a state against its copy through JSON: the same events
// must give the same commands.
func checkRoundTrip(w world) error {
	data, err := json.Marshal(w.m)
	if err != nil {
		return err
	}
	for _, ev := range w.next() {
		one, two := w.clone(), w.clone()
		two.m = new(Machine)
		if err := json.Unmarshal(data, two.m); err != nil {
			return err
		}
		a, errA := one.m.Apply(ev)
		b, errB := two.m.Apply(ev)
		if errA != nil || errB != nil {
			return fmt.Errorf("after a round trip through JSON: %v, %v", errA, errB)
		}
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) || one.m.Describe() != two.m.Describe() {
			return fmt.Errorf("after a round trip through JSON %T gives %+v, not %+v", ev, b, a)
		}
	}
	return nil
}

// checkEarlyWake lets the clock ring too early: it must be asked for again, and
// nothing else may come of it.
func checkEarlyWake(w world) error {
	if w.c.timer <= w.c.now {
		return nil
	}
	after := w.clone()
	if err := after.apply(Woke{At: w.c.now}); err != nil {
		return err
	}
	if next := w.c.nextDeadline(); next != 0 && after.key() != w.key() {
		return errors.New("a wake that came too early changed the state")
	}
	return nil
}

// checkRefusals tries events that cannot be: each is an error, and changes
// nothing.
func checkRefusals(w world) error {
	impossible := []Event{
		Opened{At: w.c.now}, Failed{Agent: -1}, Failed{Agent: len(w.c.seats)}, Stopped{Agent: len(w.c.seats)},
		Dismissed{Agent: -1}, Dismissed{Agent: len(w.c.seats) + 2},
	}
	for i := range 2 {
		if outsider := len(w.c.seats) + i; !w.c.mayDismiss(outsider) {
			impossible = append(impossible, Dismissed{Agent: outsider})
		}
	}
	if w.c.consulting.open {
		impossible = append(impossible, w.impossibleOpinions()...)
	} else {
		impossible = append(impossible, Consulted{}, Consulted{Reason: "r"})
	}
	if !w.c.presenting {
		impossible = append(impossible, Presented{})
	}
	for i, s := range w.c.seats {
		if !s.stopping {
			impossible = append(impossible, Stopped{Agent: i})
		}
		if !w.c.mayDismiss(i) {
			impossible = append(impossible, Dismissed{Agent: i})
		}
		if !s.busy {
			impossible = append(impossible, Failed{Agent: i}, Abstained{Agent: i, Seen: s.seen}, OutOfTurns{Agent: i, Seen: s.seen})
		}
		if !s.busy || !s.mayAnswer {
			impossible = append(impossible, Answered{Agent: i, Seen: s.seen})
		}
		seen := w.seenBy(s)
		last := seen[len(seen)-1]
		impossible = append(impossible, Abstained{Agent: i, Seen: s.seen - 1}, Abstained{Agent: i, Seen: last + 1}, OutOfTurns{Agent: i, Seen: last + 1},
			Answered{Agent: i, Seen: last + 1}, Voted{Agent: i, Seen: last + 1}, Voted{Agent: i, Seen: last, For: len(w.c.seats)})
		for target := range w.c.seats {
			counts := s.busy && !s.late && s.seen == len(w.c.answers)
			if !s.busy || target == i && !w.c.cfg.SelfVote || !w.hadAnswer(target, s.seen) || counts && !slices.Contains(w.c.votableBy(i), target) {
				impossible = append(impossible, Voted{Agent: i, Seen: s.seen, For: target})
			}
		}
	}
	before := w.m.Describe()
	for _, ev := range impossible {
		if got, err := w.m.Apply(ev); err == nil || len(got) > 0 {
			return fmt.Errorf("%T%+v cannot be, and was taken", ev, ev)
		}
		if w.m.Describe() != before {
			return fmt.Errorf("%T%+v was refused, and changed the state", ev, ev)
		}
	}
	return nil
}

// walkSize is what MASSGEN_WALK asks for: full is the whole product, as `make
// walk` has it; small is a second's work, for tests that run the walk many times;
// else a sample of some seconds.
func walkSize() []scenario {
	switch os.Getenv("MASSGEN_WALK") {
	case "full":
		return slices.Concat(fullProduct(), deciders(), deeperDeciders(), voting(3), restarts())
	case "small":
		return slices.Concat(sample(59, 401), fewStrata(), fewDeciders(), fewVoting(), fewRestarts(), byLead(fewBasics()))
	}
	return slices.Concat(strata(), deciders(), voting(2), fewRestarts(), byLead(fewBasics()), sample(13, 173))
}

// TestWalk is rule 10: every interleaving of up to three agents, under a sample
// of the configurations; under all of them with MASSGEN_WALK=full.
func TestWalk(t *testing.T) {
	if os.Getenv("MASSGEN_WALK") != "full" { // whose visited states alone take gigabytes
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	var states, steps, turns atomic.Int64
	var next atomic.Int64
	list := walkSize()
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)) && !t.Failed(); i = next.Add(1) - 1 {
				k := &walk{seen: map[key]visit{}}
				w, err := newWorld(list[i].cfg, list[i].may)
				if err == nil {
					err = k.from(w, w.key())
				}
				if err != nil {
					t.Errorf("%v\n  under %v", err, list[i])
				}
				states.Add(int64(len(k.seen)))
				steps.Add(int64(k.steps))
				turns.Add(1)
			}
		})
	}
	workers.Wait()
	summary := fmt.Sprintf("walk: %d states, %d steps between them, under %d configurations", states.Load(), steps.Load(), turns.Load())
	t.Log(summary)
	fmt.Println(summary)
}
