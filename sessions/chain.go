package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
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

// linkAfter reads the link before turn after of a history; after is 0 for the newest link.
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
	if err := plain.Unmarshal(data, &link); err != nil {
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

// Refs returns the texts that an event, or any JSON of this program, names, as often as it names
// them. Stores keep these texts as long as the event.
func Refs(data []byte) (refs []blob.Ref) {
	for {
		_, rest, found := bytes.Cut(data, []byte(refOpen))
		if !found {
			return refs
		}
		// A copy of the reference alone: the rest of the event is not kept for it.
		if ref, ok := parseRef(string(rest[:min(len(rest), refHex+len(refMiddle)+refDigits+1)])); ok {
			refs = append(refs, ref)
		}
		data = rest
	}
}

// parseRef reads the text after refOpen.
func parseRef(text string) (ref blob.Ref, ok bool) {
	if len(text) < refHex || strings.Trim(text[:refHex], "0123456789abcdef") != "" {
		return ref, false
	}
	rest, ok := strings.CutPrefix(text[refHex:], refMiddle)
	number, _, closed := strings.Cut(rest[:min(len(rest), refDigits+1)], "}")
	if !ok || !closed || len(number) == 0 {
		return ref, false
	}
	for _, c := range []byte(number) {
		if c < '0' || c > '9' {
			return ref, false
		}
		ref.Bytes = 10*ref.Bytes + int(c-'0')
	}
	ref.SHA256 = text[:refHex]
	return ref, true
}

// CheckHistory follows a session's history from head to its first turn, and reads the questions,
// answers and pages on the way. The history must have as many turns as the session has answered
// ones. A page may be missing, but must not differ from the links.
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
