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
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
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
	// Files are the paths of the files that the question is asked with: a list of texts in JSONL, and
	// texts with a semicolon between them in CSV. Nil for none.
	Files []string
}

// Parse reads questions in JSONL, one object a line, or in CSV, with the names of the columns in the
// first line. The keys, or columns, are question, expected, id and files; input and target are other
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

func columns() []string { return []string{"question", "input", "expected", "target", "id", "files"} }

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
		if q.Files, err = filesOf(n.fields["files"]); err != nil {
			return nil, fmt.Errorf("line %d: files is %w", n.line, err)
		}
		if q.Question == "" {
			return nil, fmt.Errorf("line %d has no question", n.line)
		}
		if q.ID == "" {
			q.ID = strconv.Itoa(i + 1)
		}
		if first := ids[q.ID]; first > 0 {
			return nil, fmt.Errorf("line %d has the id %q of line %d", n.line, q.ID, first)
		}
		asked := strings.Join(append([]string{q.Question}, q.Files...), "\x00")
		if first := texts[asked]; first > 0 {
			return nil, fmt.Errorf("line %d has the question of line %d", n.line, first)
		}
		ids[q.ID], texts[asked] = n.line, n.line
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

// filesOf reads a list of paths: JSON, or texts with a semicolon between them.
func filesOf(text string) (files []string, err error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	if strings.HasPrefix(text, "[") {
		if json.Unmarshal([]byte(text), &files) != nil {
			return nil, errors.New("no list of texts")
		}
		return files, nil
	}
	for path := range strings.SplitSeq(text, ";") {
		if path = strings.TrimSpace(path); path != "" {
			files = append(files, path)
		}
	}
	return files, nil
}

// Append adds a question to a file of JSONL, which it makes if needed. It refuses a file that is no JSONL, and a
// question that the file has.
func Append(file, question, expected string) (err error) {
	question, expected = strings.TrimSpace(question), strings.TrimSpace(expected)
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before := ""
	if text := strings.TrimSpace(string(data)); text != "" {
		if !strings.HasPrefix(text, "{") {
			return fmt.Errorf("%s is no JSONL: name another file", file)
		}
		if !bytes.HasSuffix(data, []byte("\n")) {
			before = "\n"
		}
	}
	line, err := plain.JSONLine(struct {
		Question string `json:"question"`
		Expected string `json:"expected"`
	}{question, expected})
	if err != nil {
		return err
	}
	if _, err := Parse(slices.Concat(data, []byte(before+line))); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(before + line + "\n")
	return err
}
