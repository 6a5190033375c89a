package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/fastjson"
)

// Link is one turn of a history, by reference. As a text of the store it names
// the link before it, and so the whole history.
type Link struct {
	Previous blob.Ref `json:"previous,omitzero"`
	Turn     int      `json:"turn"`
	Question blob.Ref `json:"question"`
	Answer   blob.Ref `json:"answer"`
	// Messages is as in Turn.
	Messages blob.Ref `json:"messages,omitzero"`
	// Page is a text with the turns before this one, in every hundredth link; see page.go.
	Page blob.Ref `json:"page,omitzero"`
}

// Encode returns the link as it is stored. Equal links give equal bytes.
func (l Link) Encode() ([]byte, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode the link of turn %d: %w", l.Turn, err)
	}
	return data, nil
}

// Texts resolves references.
type Texts interface {
	Get(ctx context.Context, ref blob.Ref) ([]byte, error)
}

// Chain yields a history from head, its newest link, to its oldest link, and nothing for a zero
// head. It reads each link on demand, so a caller that needs only the last turns stops there.
// An error ends it.
func Chain(ctx context.Context, texts Texts, head blob.Ref) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		for after := 0; head != (blob.Ref{}); {
			link, err := linkAfter(ctx, texts, head, after)
			if !yield(link, err) || err != nil {
				return
			}
			head, after = link.Previous, link.Turn
		}
	}
}

// linkAfter reads a link of a history, in which a turn comes after it, 0 for none.
func linkAfter(ctx context.Context, texts Texts, ref blob.Ref, after int) (Link, error) {
	link, err := readLink(ctx, texts, ref)
	if err == nil && after > 0 && link.Turn >= after {
		err = fmt.Errorf("history: turn %d comes before turn %d", link.Turn, after)
	}
	return link, err
}

func readLink(ctx context.Context, texts Texts, ref blob.Ref) (Link, error) {
	data, err := texts.Get(ctx, ref)
	if err != nil {
		return Link{}, fmt.Errorf("history: %w", err)
	}
	var link Link
	if err := fastjson.Unmarshal(data, &link); err != nil {
		return Link{}, fmt.Errorf("history: text %.12s is no link: %w", ref.SHA256, err)
	}
	if link.Turn < 1 {
		return Link{}, fmt.Errorf("history: text %.12s is no link", ref.SHA256)
	}
	return link, nil
}

// refOpen and refClose enclose a blob.Ref as encoding/json writes it. Within a JSON string its
// quotes would be escaped, so no text of a person or a model can look like one.
const (
	refOpen   = `{"sha256":"`
	refMiddle = `","bytes":`
	refHex    = 64
	refDigits = 15 // at most
)

// Refs returns the texts that an event, or any JSON of this program, names; a text that is
// named twice is returned twice. Stores keep those texts as long as the event.
func Refs(data []byte) (refs []blob.Ref) {
	for {
		_, rest, found := bytes.Cut(data, []byte(refOpen))
		if !found {
			return refs
		}
		if ref, ok := parseRef(rest); ok {
			refs = append(refs, ref)
		}
		data = rest
	}
}

// parseRef reads the text after refOpen.
func parseRef(data []byte) (ref blob.Ref, ok bool) {
	isHex := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
	isOther := func(c byte) bool { return !isHex(c) }
	if len(data) < refHex || slices.ContainsFunc(data[:refHex], isOther) {
		return ref, false
	}
	rest, ok := bytes.CutPrefix(data[refHex:], []byte(refMiddle))
	number, _, closed := bytes.Cut(rest[:min(len(rest), refDigits+1)], []byte("}"))
	if !ok || !closed || len(number) == 0 {
		return ref, false
	}
	for _, c := range number {
		if c < '0' || c > '9' {
			return ref, false
		}
		ref.Bytes = 10*ref.Bytes + int(c-'0')
	}
	ref.SHA256 = string(data[:refHex])
	return ref, true
}

// refsOfEvents returns the texts that events of a turn name, each once, and refuses an event
// of no bytes.
func refsOfEvents(id string, turn int, events [][]byte) ([]blob.Ref, error) {
	seen := map[blob.Ref]bool{}
	var refs []blob.Ref
	for _, event := range events {
		if len(event) == 0 {
			return nil, fmt.Errorf("an event of turn %d of session %s is empty", turn, id)
		}
		for _, ref := range Refs(event) {
			if !seen[ref] {
				seen[ref] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs, nil
}

// CheckHistory follows a session's history from head to its first turn, and reads the
// questions, answers and pages on the way. It must have so many turns as the store says have an
// answer. A page may be missing, but say nothing else than the links.
func CheckHistory(ctx context.Context, texts Texts, session string, head blob.Ref, answered int) error {
	links := 0
	for link, err := range Chain(ctx, texts, head) {
		if err != nil {
			return fmt.Errorf("check: session %s: %w", session, err)
		}
		links++
		for _, ref := range []blob.Ref{link.Question, link.Answer} {
			if _, err := texts.Get(ctx, ref); err != nil {
				return fmt.Errorf("check: turn %d of session %s: %w", link.Turn, session, err)
			}
		}
		if link.Page == (blob.Ref{}) {
			continue
		}
		page, err := pageOf(ctx, texts, link.Previous)
		if err != nil {
			return fmt.Errorf("check: the turns before turn %d of session %s: %w", link.Turn, session, err)
		}
		if RefOf(page) != link.Page {
			return fmt.Errorf("check: the page of turn %d of session %s is not what the turns before it say", link.Turn, session)
		}
	}
	if links != answered {
		return fmt.Errorf("check: the history of session %s has %d turns, and %d have an answer", session, links, answered)
	}
	return nil
}
