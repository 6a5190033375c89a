package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/blob"
)

// A page is a text that repeats the turns before a link, so that a long history is read in
// hundreds and not turn by turn. Each link whose turn's number is a multiple of pageTurns names
// one. It has the turns back to the link before that names one, or as many as mostPage allows:
// the first line names the link that goes on from there, and each turn has a line with its
// number and the lengths of its question and its answer, and then these. What a page says stands
// in the texts of the links too, which are read where a page is missing.

const (
	pageTurns = 100
	// mostPage is how many bytes of questions and answers a page has, unless one turn has more.
	mostPage = 1 << 20
)

// Past is a turn of a history with its texts.
type Past struct {
	Turn             int
	Question, Answer []byte
	// Messages is as in Turn.
	Messages blob.Ref
	// Previous is the link before the turn's, zero before the first turn and where a page has the
	// turn.
	Previous blob.Ref
}

func (p Past) size() int { return len(p.Question) + len(p.Answer) }

// History yields a history with its texts from its newest turn, whose link is head, to its
// oldest, and nothing for a zero head. It reads a page when it is asked for a turn on it. An error
// ends it. Nobody may change what it yields.
func History(ctx context.Context, texts Texts, head blob.Ref) iter.Seq2[Past, error] {
	return func(yield func(Past, error) bool) {
		for after := 0; head != (blob.Ref{}); {
			link, err := linkAfter(ctx, texts, head, after)
			var past Past
			if err == nil {
				past, err = link.read(ctx, texts)
			}
			if !yield(past, err) || err != nil {
				return
			}
			head, after = link.Previous, link.Turn
			if link.Page == (blob.Ref{}) {
				continue
			}
			page, next, ok := readPage(ctx, texts, link)
			if !ok {
				continue // the links have the same
			}
			for _, past := range page {
				if !yield(past, nil) {
					return
				}
				after = past.Turn
			}
			head = next
		}
	}
}

// read returns the turn of a link with its texts.
func (l Link) read(ctx context.Context, texts Texts) (past Past, err error) {
	past = Past{Turn: l.Turn, Messages: l.Messages, Previous: l.Previous}
	if past.Question, err = texts.Get(ctx, l.Question); err != nil {
		return past, fmt.Errorf("history: the question of turn %d: %w", l.Turn, err)
	}
	if past.Answer, err = texts.Get(ctx, l.Answer); err != nil {
		return past, fmt.Errorf("history: the answer of turn %d: %w", l.Turn, err)
	}
	return past, nil
}

// readPage returns the turns on the page of a link, newest first, and the link that goes on from
// there. A page that is missing or damaged is not ok.
func readPage(ctx context.Context, texts Texts, link Link) (page []Past, next blob.Ref, ok bool) {
	data, err := texts.Get(ctx, link.Page)
	if err != nil {
		return nil, next, false
	}
	head, rest, ok := cutLine(data)
	if !ok || len(head) != 2 && len(head) != 0 {
		return nil, next, false
	}
	if len(head) == 2 {
		if next, ok = refOf(head); !ok {
			return nil, next, false
		}
	}
	for before := link.Turn; len(rest) > 0; {
		var past Past
		if past, rest, ok = cutPast(rest); !ok || past.Turn >= before || past.Turn < 1 {
			return nil, next, false
		}
		page, before = append(page, past), past.Turn
	}
	return page, next, true
}

// cutPast takes the first turn off a page.
func cutPast(data []byte) (past Past, rest []byte, ok bool) {
	fields, rest, ok := cutLine(data)
	if !ok || len(fields) != 3 && len(fields) != 5 {
		return past, nil, false
	}
	var numbers [3]int
	for i, field := range fields[:3] {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > len(data) && i > 0 {
			return past, nil, false
		}
		numbers[i] = n
	}
	if numbers[1]+numbers[2] > len(rest) {
		return past, nil, false
	}
	if len(fields) == 5 {
		if past.Messages, ok = refOf(fields[3:]); !ok {
			return past, nil, false
		}
	}
	past.Turn, past.Question = numbers[0], rest[:numbers[1]]
	past.Answer = rest[numbers[1] : numbers[1]+numbers[2]]
	return past, rest[numbers[1]+numbers[2]:], true
}

// cutLine takes the first line off data, in its fields.
func cutLine(data []byte) (fields []string, rest []byte, ok bool) {
	const longest = 200
	end := bytes.IndexByte(data[:min(len(data), longest)], '\n')
	if end < 0 {
		return nil, nil, false
	}
	return strings.Fields(string(data[:end])), data[end+1:], true
}

func refOf(fields []string) (ref blob.Ref, ok bool) {
	n, err := strconv.Atoi(fields[1])
	return blob.Ref{SHA256: fields[0], Bytes: n}, err == nil && len(fields[0]) == refHex
}

// pageOf returns the page of the link that follows a history, whose newest link is head. It is nil
// if the link before is the first of the history or names a page itself: there is nothing to
// repeat. The same history gives the same page.
func pageOf(ctx context.Context, texts Texts, head blob.Ref) ([]byte, error) {
	var turns bytes.Buffer
	size, count := 0, 0
	for link, err := range Chain(ctx, texts, head) {
		if err != nil {
			return nil, err
		}
		if link.Page != (blob.Ref{}) {
			break
		}
		past, err := link.read(ctx, texts)
		if err != nil {
			return nil, err
		}
		if size += past.size(); size > mostPage && count > 0 {
			break
		}
		count++
		turns.WriteString(strings.Join([]string{strconv.Itoa(past.Turn), strconv.Itoa(len(past.Question)), strconv.Itoa(len(past.Answer))}, " "))
		if past.Messages != (blob.Ref{}) {
			fmt.Fprintf(&turns, " %s %d", past.Messages.SHA256, past.Messages.Bytes)
		}
		turns.WriteByte('\n')
		turns.Write(past.Question)
		turns.Write(past.Answer)
		head = link.Previous
	}
	if count < 2 {
		return nil, nil
	}
	first := "\n"
	if head != (blob.Ref{}) {
		first = fmt.Sprintf("%s %d\n", head.SHA256, head.Bytes)
	}
	return append([]byte(first), turns.Bytes()...), nil
}

// isPaged says whether a turn's link names a page.
func isPaged(turn int) bool { return turn%pageTurns == 0 }

// PageOf returns the page that a link names, given as it is stored, and zero for none.
func PageOf(link []byte) blob.Ref {
	var l struct {
		Page blob.Ref `json:"page"`
	}
	if bytes.Contains(link, []byte(`"page":`)) && json.Unmarshal(link, &l) != nil {
		return blob.Ref{}
	}
	return l.Page
}
