package storetest

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/massgen/massgen/sessions"
)

const (
	fewSessions, manySessions = 100, 10_000
	pageLimit                 = 20
)

// Pages tests the pages of a store, which is empty. fill adds the sessions from one number to another, each used
// later than the one before, with the word "sea" in their titles and "harbour" in their questions. isShort fails if the
// store reads more than a page for a page; nil tests allocations alone.
func Pages(t *testing.T, k sessions.Keeper, fill func(t testing.TB, from, to int), isShort func(t testing.TB, f sessions.Filter)) {
	w := worldOf(t, k)
	fill(t, 0, fewSessions)
	few := w.allocations()
	fill(t, fewSessions, manySessions)
	many := w.allocations()
	for name, n := range many {
		if most := few[name]*1.1 + 20; n > most {
			t.Errorf("%s allocates %.0f times with %d sessions, and %.0f times with %d", name, few[name], fewSessions, n, manySessions)
		}
	}
	all, err := sessions.AddUp(t.Context(), w.store, sessions.Filter{})
	w.ok(err)
	w.same("all sessions", manySessions, all.Sessions)
	if isShort != nil {
		for _, f := range w.pages() {
			isShort(t, f)
		}
	}
	w.pagesStay()
}

// pages are the first page and one from the middle.
func (w world) pages() map[string]sessions.Filter {
	w.Helper()
	list, err := w.store.List(w.Context(), sessions.Filter{Limit: fewSessions / 2})
	w.ok(err)
	return map[string]sessions.Filter{
		"the first page": {Limit: pageLimit},
		"another page":   {Limit: pageLimit, After: list[len(list)-1].Place()},
	}
}

// allocations counts the allocations for a page and for the totals.
func (w world) allocations() map[string]float64 {
	w.Helper()
	counts := map[string]float64{}
	for name, f := range w.pages() {
		counts[name] = testing.AllocsPerRun(5, func() {
			list, err := w.store.List(w.Context(), f)
			w.ok(err)
			w.same("sessions of a page", pageLimit, len(list))
		})
		counts[name+" of a search"] = testing.AllocsPerRun(5, func() {
			hits, err := w.store.Search(w.Context(), "sea", f)
			w.ok(err)
			w.same("hits of a page", pageLimit, len(hits))
		})
	}
	counts["the totals"] = testing.AllocsPerRun(5, func() {
		_, err := sessions.AddUp(w.Context(), w.store, sessions.Filter{})
		w.ok(err)
	})
	return counts
}

// pagesStay reads all pages while sessions are added and used.
func (w world) pagesStay() {
	ctx := w.Context()
	before, err := w.store.List(ctx, sessions.Filter{})
	w.ok(err)
	const size = 700
	used := map[string]bool{}
	disturb := func(n int) {
		w.ask(fmt.Sprintf("new%d", n), "about the sea", "a")
		for _, i := range []int{(n - 1) * size, min((n+2)*size, len(before)-1)} { // one that was read, and one that was not
			w.ask(before[i].ID, "again about the sea", "a")
			used[before[i].ID] = true
		}
	}
	check := func(what string, seen []string) {
		w.Helper()
		once := map[string]bool{}
		for _, id := range seen {
			if once[id] {
				w.Errorf("%s: %s is there twice", what, id)
			}
			once[id] = true
		}
		for _, s := range before {
			if !once[s.ID] && !used[s.ID] {
				w.Errorf("%s: %s is missing", what, s.ID)
			}
		}
	}
	var seen []string
	for n, page := 1, (sessions.Filter{Limit: size}); ; n++ {
		list, err := w.store.List(ctx, page)
		w.ok(err)
		if len(list) == 0 {
			break
		}
		seen, page.After = append(seen, ids(list)...), list[len(list)-1].Place()
		disturb(n)
	}
	check("the list", seen)
	seen = nil
	for page := (sessions.Filter{Limit: size}); ; {
		hits, err := w.store.Search(ctx, "harbour", page)
		w.ok(err)
		if len(hits) == 0 {
			break
		}
		for _, h := range hits {
			seen = append(seen, h.Session)
		}
		page.After = hits[len(hits)-1].Place()
		w.ask(seen[len(seen)-1], "and again", "a")
		used[seen[len(seen)-1]] = true
	}
	check("the search", seen)
}

// Many measures the pages of a store of many sessions, and prints the figures. fill is as in Pages.
func Many(t *testing.T, n int, open func(testing.TB) sessions.Keeper, fill func(t testing.TB, from, to int)) {
	w := worldOf(t, open(t))
	ctx := t.Context()
	kept, err := sessions.AddUp(ctx, w.store, sessions.Filter{})
	w.ok(err)
	for from := kept.Sessions; from < n; from += manySessions {
		fill(t, from, min(from+manySessions, n))
	}
	measure := func(what string, do func() (int, error)) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		count, err := do()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		w.ok(err)
		t.Logf("%-32s %6d of %d sessions: %8.1f ms, %7.2f MB allocated", what, count, n,
			float64(took.Microseconds())/1000, float64(after.TotalAlloc-before.TotalAlloc)/1e6)
	}
	pages := w.pages()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range pages {
			if !yield(name) {
				return
			}
		}
	}) {
		f := pages[name]
		f.Limit = 51
		measure(name, func() (int, error) {
			list, err := w.store.List(ctx, f)
			return len(list), err
		})
		for _, words := range []string{"harbour", "sea 77777", "77777"} {
			measure(name+" of search "+words, func() (int, error) {
				hits, err := w.store.Search(ctx, words, f)
				return len(hits), err
			})
		}
	}
	measure("the totals", func() (int, error) {
		all, err := sessions.AddUp(ctx, w.store, sessions.Filter{})
		return all.Sessions, err
	})
	old := sessions.Filter{UnusedSince: time.UnixMilli(int64(n) * 100)}
	measure("the totals of the oldest tenth", func() (int, error) {
		all, err := sessions.AddUp(ctx, w.store, old)
		return all.Sessions, err
	})
	measure("delete the last 1,000 of them", func() (int, error) {
		old.Limit = 1000
		list, err := w.store.List(ctx, old)
		for _, s := range list {
			if err == nil {
				err = sessions.DeleteUnused(ctx, w.store, s.ID, old.UnusedSince)
			}
		}
		return len(list), err
	})
}
