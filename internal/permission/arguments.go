package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/massgen/massgen/internal/plain"
)

// argument is one argument of a call as patterns see it.
type argument struct {
	// ways are those in which it can be written.
	ways []string
	// texts are those within it, if it is a list or an object. list says that it is a list
	// of nothing else.
	texts []string
	list  bool
}

// fits compares an argument with a pattern.
func (a argument) fits(pattern string, strict bool) bool {
	asWritten, clean := compile(pattern, strict), compile(path.Clean(pattern), strict)
	fits := func(text string) bool { return asWritten.MatchString(text) || clean.MatchString(text) }
	if !strict {
		return slices.ContainsFunc(spellings(a.ways, a.texts), fits)
	}
	texts := a.texts
	if !a.list || strings.Contains(pattern, " ") {
		texts = nil
	}
	return !slices.ContainsFunc(spellings(a.ways, texts), func(text string) bool { return !fits(text) })
}

// spellings are texts as they stand and as paths made clean: some systems part folders
// with backslashes.
func spellings(texts ...[]string) []string {
	var all []string
	for _, text := range slices.Concat(texts...) {
		all = append(all, text, path.Clean(text), path.Clean(strings.ReplaceAll(text, `\`, "/")))
	}
	return slices.Compact(all)
}

// compile makes a regular expression of a pattern.
func compile(pattern string, strict bool) *regexp.Regexp {
	expr := regexp.QuoteMeta(pattern)
	expr = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(expr)
	flags := "(?s)"
	if !strict {
		flags = "(?si)"
	}
	return regexp.MustCompile(flags + "^" + expr + "$")
}

// read returns the arguments under their folded names: readers of JSON differ in which
// of two arguments with one name they take, and some, Go's among them, do not tell the
// case of its letters.
func read(arguments string) (map[string]argument, error) {
	args := map[string]argument{}
	if strings.TrimSpace(arguments) == "" {
		return args, nil
	}
	d := json.NewDecoder(strings.NewReader(arguments))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("are no JSON object")
	}
	err := eachMember(d, func(name string) (err error) {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return noObject(err)
		}
		if _, twice := args[fold(name)]; twice {
			return fmt.Errorf("have %q twice", name)
		}
		args[fold(name)], err = newArgument(raw)
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("have more after them")
	}
	return args, nil
}

// fold returns one name for all that differ in case only, as strings.EqualFold has it.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// eachMember reads the names of an object to its end, and has read take their values.
func eachMember(d *json.Decoder, read func(name string) error) error {
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return noObject(err)
		}
		name, _ := token.(string) // the decoder takes nothing else there
		if err := read(name); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the brace
		return noObject(err)
	}
	return nil
}

func noObject(err error) error { return fmt.Errorf("are no JSON object: %w", err) }

func newArgument(raw json.RawMessage) (argument, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, texts, err := decode(d)
	if err != nil {
		return argument{}, err
	}
	if text, ok := value.(string); ok {
		return argument{ways: []string{text}}, nil
	}
	if list, ok := value.([]any); ok && len(list) == len(texts) && !slices.ContainsFunc(list, isNoText) {
		clean := make([]string, len(texts))
		for i, text := range texts {
			clean[i] = path.Clean(text)
		}
		return argument{ways: []string{strings.Join(texts, " "), strings.Join(clean, " ")}, texts: texts, list: true}, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return argument{}, noObject(err)
	}
	sorted, err := plain.JSON(value)
	if err != nil {
		return argument{}, noObject(err)
	}
	return argument{ways: []string{compact.String(), string(sorted)}, texts: texts}, nil
}

func isNoText(value any) bool {
	_, ok := value.(string)
	return !ok
}

// decode reads one value and all texts in it. Numbers are written without an exponent.
func decode(d *json.Decoder) (value any, texts []string, err error) {
	token, err := d.Token()
	if err != nil {
		return nil, nil, noObject(err)
	}
	switch t := token.(type) {
	case string:
		return t, []string{t}, nil
	case json.Number:
		return decimal(t), nil, nil
	case json.Delim:
		if t == '{' {
			return decodeObject(d)
		}
		return decodeList(d)
	}
	return token, nil, nil
}

func decimal(n json.Number) json.Number {
	value, err := n.Float64()
	if err != nil {
		return n // it is too large to be written in another way
	}
	return json.Number(strconv.FormatFloat(value, 'f', -1, 64))
}

func decodeList(d *json.Decoder) (value any, texts []string, err error) {
	list := []any{}
	for d.More() {
		item, within, err := decode(d)
		if err != nil {
			return nil, nil, err
		}
		list, texts = append(list, item), append(texts, within...)
	}
	_, err = d.Token() // the bracket
	return list, texts, err
}

func decodeObject(d *json.Decoder) (value any, texts []string, err error) {
	object := map[string]any{}
	err = eachMember(d, func(name string) error {
		if _, twice := object[name]; twice {
			return fmt.Errorf("have %q twice in one object", name)
		}
		item, within, err := decode(d)
		object[name], texts = item, append(texts, within...)
		return err
	})
	return object, texts, err
}
