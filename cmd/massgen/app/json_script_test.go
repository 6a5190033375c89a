package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// json [-file=FILE] PATH [VALUE…] checks a value in the JSON of the standard output, or of
// FILE. Each line of it is a JSON value; of several lines, the root is an array.
//
// PATH is the steps from the root, such as tool_calls[agent=a,round=1].result.success:
//
//	name       of an object; a string that holds JSON is read
//	[2]        of an array, from 0
//	[a=x,b=y]  the elements of an array whose a is x and b is y; a and b are paths
//	len()      the length of an array, or the number of an object's names
//
// A name's step from an array goes to its only element. VALUE is JSON, or else the text
// of a string; of several, one must fit. Values are masked. Without VALUE, the value must
// be there, and not be null, "", [] or {}. ! json PATH checks that the last name of PATH
// is not there.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	file := "stdout"
	if len(args) > 0 {
		if name, ok := strings.CutPrefix(args[0], "-file="); ok {
			file, args = name, args[1:]
		}
	}
	if len(args) == 0 || neg && len(args) > 1 {
		ts.Fatalf("usage: json [-file=FILE] PATH [VALUE…], or ! json [-file=FILE] PATH")
	}
	read := readJSON
	if strings.HasSuffix(file, ".json") { // a document, which may have several lines
		read = oneJSON
	}
	root, err := read(textOf(ts, file))
	ts.Check(err)
	path := args[0]
	if neg {
		ts.Check(hasNot(root, path))
		return
	}
	got, err := walk(root, path)
	ts.Check(err)
	switch {
	case len(args) == 1 && slices.Contains([]string{"null", `""`, "[]", "{}"}, compact(got)):
		ts.Fatalf("%s is %s", path, compact(got))
	case len(args) > 1 && !slices.ContainsFunc(args[1:], func(want string) bool { return compact(got) == wanted(want) }):
		ts.Fatalf("%s is\n%s\nwant\n%s", path, compact(got), strings.Join(args[1:], "\nor\n"))
	}
}

// readJSON decodes each line as one JSON value. It returns a single value as it is, and
// several as an array.
func readJSON(text string) (any, error) {
	values := []any{}
	for line := range strings.Lines(text) {
		v, err := oneJSON(line)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, line)
		}
		values = append(values, v)
	}
	if len(values) == 1 {
		return values[0], nil
	}
	return values, nil
}

func oneJSON(text string) (any, error) {
	var v any
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("not one JSON value")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // a number is compared as it is written
	err := d.Decode(&v)
	return v, err
}

// compact is v in one form for all that are equal.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func wanted(value string) string {
	if v, err := oneJSON(value); err == nil {
		return compact(v)
	}
	return compact(value)
}

// hasNot returns an error unless only the last name of the path is missing.
func hasNot(root any, path string) error {
	steps, err := stepsOf(path)
	if err != nil {
		return err
	}
	last := steps[len(steps)-1]
	for _, s := range steps[:len(steps)-1] {
		if root, err = step(root, s); err != nil {
			return err
		}
	}
	object, ok := only(root).(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %q needs an object, not %s", path, last, compact(root))
	}
	if v, ok := object[last]; ok {
		return fmt.Errorf("%s is there: %s", path, compact(v))
	}
	return nil
}

func walk(root any, path string) (any, error) {
	steps, err := stepsOf(path)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		if root, err = step(root, s); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return root, nil
}

// stepsOf splits a path before each [ and at each dot outside of brackets.
func stepsOf(path string) ([]string, error) {
	var steps []string
	for rest := path; rest != ""; {
		end := strings.IndexAny(rest, ".[")
		if rest[0] == '[' {
			if end = strings.IndexByte(rest, ']') + 1; end == 0 {
				return nil, fmt.Errorf("%s: a ] is missing", path)
			}
		}
		if end < 0 {
			end = len(rest)
		}
		steps = append(steps, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	return steps, nil
}

func step(v any, s string) (any, error) {
	if inside, ok := strings.CutPrefix(s, "["); ok {
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%s needs an array, not %s", s, compact(v))
		}
		return elements(list, strings.TrimSuffix(inside, "]"))
	}
	if s == "len()" {
		switch v := v.(type) {
		case []any:
			return json.Number(strconv.Itoa(len(v))), nil
		case map[string]any:
			return json.Number(strconv.Itoa(len(v))), nil
		}
		return nil, fmt.Errorf("%s has no length", compact(v))
	}
	object, ok := only(v).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%q needs an object, not %s", s, compact(v))
	}
	value, ok := object[s]
	if !ok {
		return nil, fmt.Errorf("there is no %q; there are %q", s, slices.Sorted(maps.Keys(object)))
	}
	return value, nil
}

// only returns the element of an array of one, and what a string of JSON holds.
func only(v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	if text, ok := v.(string); ok {
		if held, err := oneJSON(text); err == nil {
			return held
		}
	}
	return v
}

// elements returns the element of a number, or those that have certain values.
func elements(list []any, which string) (any, error) {
	if i, err := strconv.Atoi(which); err == nil {
		if i < 0 || i >= len(list) {
			return nil, fmt.Errorf("[%d] is not there: there are %d", i, len(list))
		}
		return list[i], nil
	}
	for condition := range strings.SplitSeq(which, ",") {
		name, want, ok := strings.Cut(condition, "=")
		if !ok {
			return nil, fmt.Errorf("[%s] is neither a number nor name=value", which)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			value, err := walk(v, name)
			return err != nil || compact(value) != wanted(want)
		})
	}
	return list, nil
}

func TestJSONPaths(t *testing.T) {
	root, err := readJSON(`{"a":{"b":[1,2.50]},"list":[{"n":"x","k":1},{"n":"y","k":1}],"text":"{\"in\":{\"c\":null}}"}`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a":                   `{"b":[1,2.50]}`,
		"a.b[1]":              `2.50`,
		"a.b.len()":           `2`,
		"a.len()":             `1`,
		"list[n=y].k":         `1`,
		"list[k=1].len()":     `2`,
		"list[k=1,n=x]":       `[{"k":1,"n":"x"}]`,
		"list[k=2].len()":     `0`,
		"text.in.c":           `null`,
		"list[k=1].n":         `error: list[k=1].n: "n" needs an object, not [{"k":1,"n":"x"},{"k":1,"n":"y"}]`,
		"list[k=2].n":         `error: list[k=2].n: "n" needs an object, not []`,
		"list[2]":             `error: list[2]: [2] is not there: there are 2`,
		"list[k].n":           `error: list[k].n: [k] is neither a number nor name=value`,
		"a.c":                 `error: a.c: there is no "c"; there are ["b"]`,
		"a[0]":                `error: a[0]: [0] needs an array, not {"b":[1,2.50]}`,
		"a.b[1].len()":        `error: a.b[1].len(): 2.50 has no length`,
		"list[n=x":            `error: list[n=x: a ] is missing`,
		"text.in.d.e":         `error: text.in.d.e: there is no "d"; there are ["c"]`,
		"list[n=\"1\"].len()": `0`,
	} {
		v, err := walk(root, path)
		got := compact(v)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{"a.c": "", "a.b": "a.b is there: [1,2.50]", "c.a": `there is no "c"; there are ["a" "list" "text"]`, "a.b.c": `a.b.c: "c" needs an object, not [1,2.50]`} {
		if err := hasNot(root, path); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("the lack of %s: %v, want %q", path, err, want)
		}
	}
	if lines, err := readJSON("1\n\"1\"\n"); err != nil || compact(lines) != `[1,"1"]` {
		t.Errorf("two lines are %v: %v", lines, err)
	}
	if _, err := readJSON("{\n}\n"); err == nil {
		t.Error("a value of two lines was read")
	}
	if wanted("1") == wanted(`"1"`) || wanted("x y") != `"x y"` || wanted(`{"b": 1, "a":2}`) != `{"a":2,"b":1}` {
		t.Errorf("wanted: %s %s %s", wanted("1"), wanted("x y"), wanted(`{"b": 1, "a":2}`))
	}
}
