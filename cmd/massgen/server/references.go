package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/sessions"
)

// itemReference names an item of an earlier response.
type itemReference struct {
	at   place
	kind string // one of the prefixes of items' ids
	call string // the id of the call if the item is one
	// param is the key of the request that has the id.
	param string
}

// itemsID returns the common part of the ids of a response's items, which contains the place of its turn.
// seen is the number of the turn's events that the client saw before the response.
func itemsID(at place, seen int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d\n%s", at.turn, seen, at.session))
}

// turnOfItem returns the turn that the id of an item names, without the item's prefix. A number follows the
// common part.
func turnOfItem(id string) (at place, ok bool) {
	end := max(strings.LastIndexByte(id, '_'), 0)
	data, err := base64.RawURLEncoding.DecodeString(id[:end])
	numbers, session, isWhole := strings.Cut(string(data), "\n")
	number, _, hasSeen := strings.Cut(numbers, ".")
	turn, numberErr := strconv.Atoi(number)
	_, indexErr := strconv.Atoi(strings.TrimPrefix(id[end:], "_"))
	return place{session, turn}, errors.Join(err, numberErr, indexErr) == nil && isWhole && hasSeen
}

// readReference returns the item that an id names. place is the place in the request.
func readReference(place, id string) (*itemReference, error) {
	r := itemReference{param: place + ".id"}
	if len(id) > mostResponseID {
		return nil, r.missing()
	}
	prefix, rest, _ := strings.Cut(id, "_")
	ok := false
	switch r.kind = prefix + "_"; r.kind {
	case callItem:
		r.call = callPrefix + rest
		r.at, ok = turnOfCall(r.call)
	case reasoningItem, messageItem:
		r.at, ok = turnOfItem(rest)
	}
	if !ok || r.at.turn < 1 || sessions.CheckID(r.at.session) != nil {
		return nil, r.missing()
	}
	return &r, nil
}

// missing returns the refusal of a reference to an item that does not exist.
func (r itemReference) missing() error {
	return badRequest(r.param, r.param+" names no item of this server: send the item itself")
}

// resolve replaces the references among the messages of a request. A reference to a message becomes the
// answer of its turn, or an empty message while the turn waits for its client. A reference to a call becomes
// a call without its name, and one to reasoning an empty message: the turn has both.
func (s *turns) resolve(ctx context.Context, messages []message) ([]message, error) {
	from := map[string]int{} // the first turn that is referred to, by session
	for _, m := range messages {
		if r := m.reference; r != nil && (from[r.at.session] == 0 || r.at.turn < from[r.at.session]) {
			from[r.at.session] = r.at.turn
		}
	}
	answers := map[place]string{}
	for session, turn := range from {
		if err := s.answersFrom(ctx, place{session, turn}, answers); err != nil {
			return nil, err
		}
	}
	resolved := slices.Clone(messages)[:0]
	for i, m := range messages {
		r := m.reference
		if r == nil {
			resolved = append(resolved, m)
			continue
		}
		answer, there := answers[r.at]
		if !there {
			return nil, r.missing()
		}
		switch {
		case r.kind == callItem:
			m.calls = []toolCall{newToolCall(r.call, "", "")}
		case r.kind == messageItem && !isFollowed(messages[i+1:], *r):
			m.text = answer
		}
		m.reference = nil
		resolved = append(resolved, m)
	}
	return resolved, nil
}

// isFollowed reports whether one of the messages refers to a later item of the same turn that is a call or a
// message. Then the item before it is not the answer.
func isFollowed(messages []message, by itemReference) bool {
	for _, m := range messages {
		if m.role == roleUser {
			return false
		}
		if r := m.reference; r != nil && r.at == by.at && r.kind != reasoningItem {
			return true
		}
	}
	return false
}

// answersFrom adds the answers of the turns of a session, beginning with first. It leaves out deleted responses.
func (s *turns) answersFrom(ctx context.Context, first place, answers map[place]string) error {
	if !mayUse(ctx, first.session) {
		return nil
	}
	kept, err := s.store.Session(ctx, first.session)
	if errors.Is(err, sessions.ErrNoSession) || err == nil && kept.Turns < first.turn {
		return nil
	}
	if err != nil {
		return err
	}
	turns, err := s.store.Turns(ctx, first.session, kept.Turns-first.turn+1)
	if err != nil {
		return err
	}
	asked := askingsOf(kept)
	for _, t := range turns {
		if !asked[t.Number].IsDeleted {
			answers[place{first.session, t.Number}] = t.Answer
		}
	}
	return nil
}
