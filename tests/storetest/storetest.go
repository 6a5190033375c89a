// Package storetest is the suite that every store of sessions must pass.
package storetest

import (
	"testing"

	"github.com/massgen/massgen/sessions"
)

// Run tests the stores that open makes, each empty, several at once. After each test the
// store must be undamaged.
func Run(t *testing.T, open func(t *testing.T) sessions.Keeper) {
	for name, test := range suite() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldOf(t, open(t))
			test(w)
			w.ok(w.store.Check(t.Context()))
		})
	}
}

// RunLasting tests stores that outlive the process: open opens the one in dir. It
// is called again for the same dir while the store before it is still open, as
// after a crash.
func RunLasting(t *testing.T, open func(t *testing.T, dir string) sessions.Keeper) {
	Run(t, func(t *testing.T) sessions.Keeper { return open(t, t.TempDir()) })
	for name, test := range lasting() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test(worldOf(t, open(t, dir)), func() world { return worldOf(t, open(t, dir)) })
		})
	}
}

func suite() map[string]func(world) {
	return map[string]func(world){
		"texts":                          texts,
		"a turn from begin to end":       oneTurn,
		"numbers of turns":               numbers,
		"busy sessions":                  busy,
		"only a running turn writes":     onlyRunning,
		"order of the journal":           journalOrder,
		"events name texts":              eventsNameTexts,
		"turns without an answer":        noAnswer,
		"committed turns":                committed,
		"events with the end":            endsWith,
		"the chain of a history":         chain,
		"messages of a panel of one":     messages,
		"usage":                          usage,
		"big texts":                      bigTexts,
		"concurrent use":                 concurrent,
		"one of many begins":             oneBegins,
		"cancelled calls":                cancelled,
		"invalid input":                  invalid,
		"invalid ends":                   invalidEnds,
		"list":                           list,
		"titles and metadata":            titles,
		"metadata of a first event":      firstMetadata,
		"search":                         search,
		"odd queries":                    oddQueries,
		"branch":                         branch,
		"branch of what is deleted":      branchDeleted,
		"delete":                         remove,
		"delete keeps what is put":       removeKeeps,
		"delete, begin and compact":      compact,
		"facts":                          facts,
		"export and import":              exportImport,
		"import refuses":                 importRefuses,
		"long sessions":                  longSessions,
		"long sessions let others write": othersWrite,
	}
}

func lasting() map[string]func(world, func() world) {
	return map[string]func(world, func() world){
		"what has ended lasts":    lasts,
		"interrupted turns":       interrupted,
		"turns that are given up": givenUp,
		"busy in another process": busyElsewhere,
	}
}
