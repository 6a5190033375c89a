package openai

import (
	"cmp"
	"strings"

	"github.com/massgen/massgen/internal/models/wire"
)

// openItem is an output item, which may grow until it is done.
type openItem struct {
	item

	call      int // the number of a call among the calls, from 0
	arguments argumentsText
	said      strings.Builder // what was streamed of its text
	part      int             // the number of the last piece of its summary, or of its thoughts
	done      bool
}

// itemList has the items of one response, in the order in which they began.
type itemList struct {
	items []*openItem
	// byIndex has the newest item of an output index, byID the newest of an id.
	byIndex map[int]*openItem
	byID    map[string]*openItem
	told    map[string]bool // the items that are done, by what names them
	calls   int             // those that began
}

// at returns the item that a piece belongs to: the newest of its index. Where a service gives
// all items one index, the id of an item that is open says more.
func (l *itemList) at(index int, id string) *openItem {
	for _, at := range []*openItem{l.byID[id], l.byIndex[index]} {
		if at != nil && !at.done {
			return at
		}
	}
	return l.add(index)
}

func (l *itemList) add(index int) *openItem {
	at := &openItem{}
	l.items, l.byIndex[index] = append(l.items, at), at
	return at
}

// open begins an item, or reads what it says at its end, which may be less. It fails if that
// is a call too many.
func (l *itemList) open(index int, said item) (*openItem, error) {
	at := l.at(index, said.ID)
	if at.Type != "" && (at.Type != said.Type || at.CallID != "" && said.CallID != "" && at.CallID != said.CallID) {
		at = l.add(index)
	}
	isNew := at.Type == ""
	said.Phase, said.Name, said.CallID = cmp.Or(said.Phase, at.Phase), cmp.Or(said.Name, at.Name), cmp.Or(said.CallID, at.CallID)
	at.item = said
	if said.ID != "" {
		l.byID[said.ID] = at
	}
	if at.Type == callItem && isNew {
		if l.calls == wire.MaxCalls {
			return at, wire.ErrTooManyCalls
		}
		at.call = l.calls
		l.calls++
	}
	return at, nil
}
