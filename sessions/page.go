package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/blob"
)

// A page is a text that repeats the turns before a link, so that a reader of a long history reads
// hundreds of turns at once. Each link whose turn's number is a multiple of pageTurns names a page.
// The page has the turns back to the previous page, or as many as mostPage allows. Its first line
// names the link where the history goes on. Each turn has a line with its number and the lengths of
// its question and its answer, followed by these two. The links have the same texts, and replace a
// missing page.

const (
	pageTurns = 100
	// mostPage is how many bytes of questions and answers a page has, unless one turn has more.
	mostPage = 1 << 20
)

// History yields the turns of a history from the newest, whose link is head, to the oldest, and
// nothing for a zero head. They have their numbers, questions, answers and lists of messages alone.
// It reads a page when it is asked for a turn on it. It ends at an error.
func History(ctx context.Context, texts Texts, head blob.Ref) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for after := 0; head != (blob.Ref{}); {
			link, err := linkAfter(ctx, texts, head, after)
			var turn Turn
			if err == nil {
				turn, err = link.read(ctx, texts)
			}
			if !yield(turn, err) || err != nil {
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
			for _, turn := range page {
				if !yield(turn, nil) {
					return
				}
				after = turn.Number
			}
			head = next
		}
	}
}

// read returns the turn of a link with its texts.
func (l Link) read(ctx context.Context, texts Texts) (Turn, error) {
	question, err := texts.Get(ctx, l.Question)
	if err != nil {
		return Turn{}, fmt.Errorf("history: the question of turn %d: %w", l.Turn, err)
	}
	answer, err := texts.Get(ctx, l.Answer)
	if err != nil {
		return Turn{}, fmt.Errorf("history: the answer of turn %d: %w", l.Turn, err)
	}
	return Turn{Number: l.Turn, Question: string(question), Answer: string(answer), Messages: l.Messages}, nil
}

// readPage returns the turns on the page of a link, newest first, and the link where the history goes
// on. ok is false for a missing or damaged page.
func readPage(ctx context.Context, texts Texts, link Link) (page []Turn, next blob.Ref, ok bool) {
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
		var turn Turn
		if turn, rest, ok = cutTurn(rest); !ok || turn.Number >= before || turn.Number < 1 {
			return nil, next, false
		}
		page, before = append(page, turn), turn.Number
	}
	return page, next, true
}

// cutTurn cuts the first turn off a page.
func cutTurn(data []byte) (turn Turn, rest []byte, ok bool) {
	fields, rest, ok := cutLine(data)
	if !ok || len(fields) != 3 && len(fields) != 5 {
		return turn, nil, false
	}
	var numbers [3]int
	for i, field := range fields[:3] {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > len(data) && i > 0 {
			return turn, nil, false
		}
		numbers[i] = n
	}
	if numbers[1]+numbers[2] > len(rest) {
		return turn, nil, false
	}
	if len(fields) == 5 {
		if turn.Messages, ok = refOf(fields[3:]); !ok {
			return turn, nil, false
		}
	}
	turn.Number, turn.Question = numbers[0], string(rest[:numbers[1]])
	turn.Answer = string(rest[numbers[1] : numbers[1]+numbers[2]])
	return turn, rest[numbers[1]+numbers[2]:], true
}

// cutLine cuts the first line off data, and splits it into fields.
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

// pageOf returns the page of the link that follows a history, whose newest link is head. The page is
// nil if it would have fewer than two turns. The same history gives the same page.
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
		turn, err := link.read(ctx, texts)
		if err != nil {
			return nil, err
		}
		if size += len(turn.Question) + len(turn.Answer); size > mostPage && count > 0 {
			break
		}
		count++
		turns.WriteString(strings.Join([]string{strconv.Itoa(turn.Number), strconv.Itoa(len(turn.Question)), strconv.Itoa(len(turn.Answer))}, " "))
		if turn.Messages != (blob.Ref{}) {
			fmt.Fprintf(&turns, " %s %d", turn.Messages.SHA256, turn.Messages.Bytes)
		}
		turns.WriteByte('\n')
		turns.WriteString(turn.Question)
		turns.WriteString(turn.Answer)
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

// isPaged reports whether a turn's link names a page.
func isPaged(turn int) bool { return turn%pageTurns == 0 }

// namedPage returns the page that a stored link names, or zero.
func namedPage(link []byte) blob.Ref {
	var l Link
	if !bytes.Contains(link, []byte(`"page":`)) || json.Unmarshal(link, &l) != nil {
		return blob.Ref{}
	}
	return l.Page
}
