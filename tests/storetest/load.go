package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/massgen/massgen/sessions"
)

func bigTexts(w world) {
	big := strings.Repeat("ein großer Text\n", 1<<16)
	w.begin("s", big)
	w.event("s", 1, big+"1", big+"2")
	w.ok(w.store.Append(w.Context(), "s", 1, []byte(big)))
	w.ok(w.store.End(w.Context(), "s", 1, answered(big+"3")))
	w.same("the history is right", true, w.history("s")[0] == big+" -> "+big+"3")
	journal, err := w.store.Journal(w.Context(), "s", 1, 0)
	w.ok(err)
	w.same("the event is right", true, string(journal[1]) == big)
	got, err := w.store.Get(w.Context(), sessions.RefOf([]byte(big+"2")))
	w.ok(err)
	w.same("the text is right", true, string(got) == big+"2")
	w.same("the title", "ein großer Text", w.session("s").Title)
}

// concurrent runs turns of many sessions at once, each with effects that come
// back at once, while others look.
func concurrent(w world) {
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for turn := 1; turn <= 5; turn++ {
				if err := w.busyTurn(fmt.Sprint("session ", i), turn); err != nil {
					w.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 5 {
				_, err := w.store.List(w.Context(), sessions.Filter{})
				_, alsoErr := w.store.Search(w.Context(), "q1", sessions.Filter{})
				if err := errors.Join(err, alsoErr); err != nil {
					w.Error(err)
				}
			}
		})
	}
	group.Wait()
	for i := range 8 {
		id := fmt.Sprint("session ", i)
		w.same("its history", []string{"q1 -> a1", "q2 -> a2", "q3 -> a3", "q4 -> a4", "q5 -> a5"}, w.history(id))
		for turn := 1; turn <= 5; turn++ {
			journal, err := w.store.Journal(w.Context(), id, turn, 0)
			w.ok(err)
			w.same("events", 4, len(journal))
		}
	}
}

// busyTurn runs a turn whose effects come back at once.
func (w world) busyTurn(id string, turn int) error {
	if _, err := w.store.Begin(w.Context(), id, fmt.Sprint("q", turn)); err != nil {
		return err
	}
	var effects sync.WaitGroup
	for i := range 4 {
		effects.Go(func() {
			ref, err := w.store.Put(w.Context(), fmt.Appendf(nil, "text %d", i%2))
			if err == nil {
				err = w.store.Append(w.Context(), id, turn, fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes))
			}
			if err == nil {
				_, err = w.store.Get(w.Context(), ref)
			}
			if err != nil {
				w.Error(err)
			}
		})
	}
	effects.Wait()
	return w.store.End(w.Context(), id, turn, answered(fmt.Sprint("a", turn)))
}

// oneBegins is that of those who begin a turn at once, one does.
func oneBegins(w world) {
	const all = 8
	errs := make(chan error, all)
	for range all {
		go func() {
			_, err := w.store.Begin(w.Context(), "s", "q")
			errs <- err
		}()
	}
	won := 0
	for range all {
		if err := <-errs; err == nil {
			won++
		} else {
			w.is(err, sessions.ErrBusy)
		}
	}
	w.same("who won", 1, won)
}
