// Package questions reads files of questions with their right answers, and says how simulated members
// answer them.
package questions

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/charset"
)

// Question is one question of a file.
type Question struct {
	// ID is unique in the file. A question without one has its place, from 1.
	ID string
	// Question is the text that agents are asked, without white space around it.
	Question string
	// Expected is the right answer, "" if the file has none. A value of JSON that is no text is
	// written as JSON.
	Expected string
}

// Parse reads questions in JSONL, one object a line, or in CSV, with the names of the columns in the
// first line. The keys, or columns, are question, expected and id; input and target are other
// names of the first two. Others have no effect. An error is one line that names the line of the
// file.
func Parse(data []byte) ([]Question, error) {
	text, err := charset.Strict(data)
	if err != nil {
		return nil, err
	}
	var list []numbered
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") {
		list, err = parseLines(text)
	} else if trimmed != "" {
		list, err = parseTable(text)
	}
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("there are no questions in it")
	}
	return checked(list)
}

// numbered is the fields of a question with its line.
type numbered struct {
	line   int
	fields map[string]string
}

func parseLines(text string) ([]numbered, error) {
	var list []numbered
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			return nil, fmt.Errorf("line %d is not a JSON object: %w", i+1, err)
		}
		fields := map[string]string{}
		for name, value := range object {
			fields[name] = textOf(value)
		}
		list = append(list, numbered{i + 1, fields})
	}
	return list, nil
}

// textOf returns a text as it is, null as nothing, and any other value as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text // "" for null
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return ""
	}
	return compact.String()
}

func parseTable(text string) ([]numbered, error) {
	r := csv.NewReader(strings.NewReader(text))
	head, err := r.Read()
	if err != nil {
		return nil, err
	}
	for i, name := range head {
		head[i] = strings.ToLower(strings.TrimSpace(name))
		if slices.Contains(columns(), head[i]) && slices.Contains(head[:i], head[i]) {
			return nil, fmt.Errorf("line 1: two columns are named %s", head[i])
		}
	}
	if !slices.Contains(head, "question") && !slices.Contains(head, "input") {
		return nil, errors.New("line 1: there is no column question; a file is CSV with names of columns, or JSONL with an object a line")
	}
	var list []numbered
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "record on "))
		}
		line, _ := r.FieldPos(0)
		fields := map[string]string{}
		for i, name := range head {
			fields[name] = row[i]
		}
		list = append(list, numbered{line, fields})
	}
}

func columns() []string { return []string{"question", "input", "expected", "target", "id"} }

// checked returns the questions of the fields.
func checked(list []numbered) ([]Question, error) {
	ids, texts := map[string]int{}, map[string]int{}
	all := make([]Question, len(list))
	for i, n := range list {
		question, err := oneOf(n, "question", "input")
		if err != nil {
			return nil, err
		}
		expected, err := oneOf(n, "expected", "target")
		if err != nil {
			return nil, err
		}
		q := Question{ID: strings.TrimSpace(n.fields["id"]), Question: question, Expected: expected}
		if q.Question == "" {
			return nil, fmt.Errorf("line %d has no question", n.line)
		}
		if q.ID == "" {
			q.ID = strconv.Itoa(i + 1)
		}
		if first := ids[q.ID]; first > 0 {
			return nil, fmt.Errorf("line %d has the id %q of line %d", n.line, q.ID, first)
		}
		if first := texts[q.Question]; first > 0 {
			return nil, fmt.Errorf("line %d has the question of line %d", n.line, first)
		}
		ids[q.ID], texts[q.Question] = n.line, n.line
		all[i] = q
	}
	return all, nil
}

// oneOf returns the field with one of two names.
func oneOf(n numbered, name, synonym string) (string, error) {
	a, b := strings.TrimSpace(n.fields[name]), strings.TrimSpace(n.fields[synonym])
	if a != "" && b != "" {
		return "", fmt.Errorf("line %d has %s and %s, which mean the same: keep one", n.line, name, synonym)
	}
	return a + b, nil
}
