package sessions

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Place is a place in a list of sessions, or in the hits of a search. The next page begins after it, even if the
// session there is gone or was used again. The zero Place is before the first one.
type Place struct {
	// Used is when the session was last used.
	Used    time.Time
	Session string
	// Turn is the turn of a hit, 0 for a title. Lists ignore it.
	Turn int
}

// Place returns the place of a session in a list.
func (s Session) Place() Place { return Place{Used: s.Updated, Session: s.ID} }

// Place returns the place of a hit in a search.
func (h Hit) Place() Place { return Place{h.Updated, h.Session, h.Turn} }

// String returns a place as a text for ParsePlace, such as 1764388800000-ID, and with a turn 1764388800000.3-ID. The
// zero Place is "".
func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	text := strconv.FormatInt(p.Used.UnixMilli(), 10)
	if p.Turn > 0 {
		text += "." + strconv.Itoa(p.Turn)
	}
	return text + "-" + p.Session
}

// ParsePlace parses what String returns.
func ParsePlace(text string) (Place, error) {
	const latest = 253402300799999 // the end of the year 9999
	if text == "" {
		return Place{}, nil
	}
	at, id, isPlace := strings.Cut(text, "-")
	at, turn, hasTurn := strings.Cut(at, ".")
	p := Place{Session: id}
	millis, err := strconv.ParseUint(at, 10, 63)
	if err == nil && hasTurn {
		var n uint64
		n, err = strconv.ParseUint(turn, 10, 31)
		p.Turn = int(n)
	}
	if err != nil || !isPlace || millis > latest || CheckID(id) != nil {
		return Place{}, errors.New("it is no place in a list: take it from the page before")
	}
	p.Used = time.UnixMilli(int64(millis)).UTC()
	return p, nil
}

// isBefore reports whether a place is before another one in lists and searches.
func (p Place) isBefore(q Place) bool {
	switch {
	case !p.Used.Equal(q.Used):
		return p.Used.After(q.Used)
	case p.Session != q.Session:
		return p.Session < q.Session
	}
	return p.Turn < q.Turn
}
