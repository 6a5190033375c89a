package permission

import (
	"bytes"
	"cmp"
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

	"github.com/massgen/massgen/internal/system/plain"
)

// argument is one argument of a call as patterns see it.
type argument struct {
	// ways are the ways of writing it.
	ways []string
	// texts are the texts within a list or an object. list marks a list that has only texts.
	texts []string
	list  bool
}

// allowed reports whether an argument fits a pattern in every way of writing it.
func (a argument) allowed(pattern string) bool {
	asWritten, clean := compile(pattern, true), compile(path.Clean(pattern), true)
	ways := spellings(a.ways)
	if a.list {
		clean, ways = asWritten, a.ways // a clean ./sort would be the sort of PATH
	}
	if strings.Contains(pattern, "..") || strings.Contains(pattern, " ") {
		clean = asWritten // x/../* is not *
	}
	if a.list && len(a.texts) > 0 {
		ways = append(slices.Clip(ways), joined(blanksHidden(a.texts[0]), a.texts[1:]))
	}
	if a.list && !strings.Contains(pattern, " ") {
		ways = slices.Concat(ways, a.texts, cleanTexts(a.texts), cleanTexts(withSlashes(a.texts...)))
	}
	return !slices.ContainsFunc(ways, func(text string) bool { return !asWritten.MatchString(text) && !clean.MatchString(text) })
}

// cleanTexts returns the texts of a list as clean paths. The first may be a program.
func cleanTexts(texts []string) (clean []string) {
	for _, text := range texts {
		clean = append(clean, path.Clean(text))
	}
	if len(texts) > 0 && strings.Contains(texts[0], "/") && !strings.Contains(clean[0], "/") {
		clean[0] = "./" + clean[0] // without it the program would be one of PATH
	}
	return clean
}

// blanksHidden replaces the blanks of a text, so that no blank of a pattern matches them: a program's
// path may contain blanks, and the first blank of a pattern ends the path.
func blanksHidden(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '\x00'
		}
		return r
	}, text)
}

// refused reports whether the argument of a call fits a pattern in one way, or names a folder in which
// a file may fit. A program and " *" also mean the program without arguments.
func (a argument) refused(pattern, name string, c call) bool {
	if program, ok := strings.CutSuffix(pattern, " *"); ok && a.list && a.refused(program, name, c) {
		return true
	}
	ways, folders := a.seen(name, c)
	asWritten, clean := compile(pattern, false), compile(path.Clean(pattern), false)
	fits := func(text string) bool { return asWritten.MatchString(text) || clean.MatchString(text) }
	return slices.ContainsFunc(spellings(ways, a.texts), fits) ||
		slices.ContainsFunc(folders, func(folder string) bool { return mayHave(folder, pattern) })
}

// seen returns the ways of writing an argument of a call, also by the targets of links and by a program's name, and
// the folders that it names.
func (a argument) seen(name string, c call) (ways, folders []string) {
	ways = slices.Clone(a.ways)
	texts := slices.Clone(a.texts)
	if len(texts) == 0 {
		texts = ways
	}
	for _, text := range texts {
		names, isFolder := c.path(name, text)
		ways = append(ways, names...)
		if isFolder {
			folders = append(append(folders, path.Clean(withSlashes(text)[0])), names...)
		}
	}
	if a.list && len(a.texts) > 0 {
		for _, program := range programs(c.look.Program(a.texts[0], c.text("dir"))) {
			ways = append(ways, program, joined(program, a.texts[1:]))
		}
	}
	return ways, folders
}

// programs returns names of programs, and the same names without a path or .exe.
func programs(names []string) (all []string) {
	for _, name := range names {
		base := path.Base(withSlashes(name)[0])
		all = append(all, name, base, strings.TrimSuffix(strings.ToLower(base), ".exe"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func joined(first string, rest []string) string {
	return strings.Join(append([]string{first}, rest...), " ")
}

// mayHave reports whether a path below a folder can fit a pattern: whether the pattern fits the
// folder's path and a slash as far as they go.
func mayHave(folder, pattern string) bool {
	begin := strings.ToLower(folder) + "/"
	if folder == "." {
		begin = ""
	}
	at := map[int]bool{0: true} // places in the pattern that can be reached
	runes := []rune(strings.ToLower(path.Clean(pattern)))
	for _, r := range begin {
		next := map[int]bool{}
		for i := range at {
			for ; i < len(runes) && runes[i] == '*'; i++ {
				next[i] = true
			}
			if i < len(runes) && (runes[i] == '?' || runes[i] == r) {
				next[i+1] = true
			}
		}
		at = next
	}
	return len(at) > 0
}

// spellings returns texts as they stand and as clean paths: some systems separate folders by
// backslashes.
func spellings(texts ...[]string) []string {
	var all []string
	for _, text := range slices.Concat(texts...) {
		all = append(all, text, path.Clean(text), path.Clean(withSlashes(text)[0]))
	}
	return slices.Compact(all)
}

// withSlashes replaces backslashes, which separate folders on some systems.
func withSlashes(texts ...string) []string {
	slashed := make([]string, len(texts))
	for i, text := range texts {
		slashed[i] = strings.ReplaceAll(text, `\`, "/")
	}
	return slashed
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

// read returns the arguments by their folded names. It refuses one name twice: readers of JSON differ
// in which of the two they take, and some, Go's among them, ignore the case of letters.
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

// fold returns one name for all names that strings.EqualFold finds equal.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// eachMember reads the names of an object to its end, and calls read for each value.
func eachMember(d *json.Decoder, read func(name string) error) error {
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return noObject(err)
		}
		name, _ := token.(string) // the decoder accepts only names there
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
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return argument{}, noObject(err)
		}
		return argument{ways: []string{text}}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, texts, err := decode(d)
	if err != nil {
		return argument{}, err
	}
	if list, ok := value.([]any); ok && len(list) == len(texts) && !slices.ContainsFunc(list, isNoText) {
		var ways []string
		for _, written := range [][]string{texts, cleanTexts(texts), cleanTexts(withSlashes(texts...))} {
			ways = append(ways, strings.Join(written, " "))
		}
		return argument{ways: ways, texts: texts, list: true}, nil
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

// decimal writes a number in full, without an exponent and without leading and trailing zeros. It
// keeps an exponent beyond mostExponent.
func decimal(n json.Number) json.Number {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	point, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return n // it is too large to be written in another way
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	point += len(whole) - (len(whole+fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	const mostExponent = 400
	switch {
	case digits == "":
		return "0"
	case point > mostExponent || point < -mostExponent:
		text = digits + "e" + strconv.Itoa(point)
	case point <= 0:
		text = "0." + strings.Repeat("0", -point) + digits
	case point >= len(digits):
		text = digits + strings.Repeat("0", point-len(digits))
	default:
		text = digits[:point] + "." + digits[point:]
	}
	if negative {
		text = "-" + text
	}
	return json.Number(text)
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
