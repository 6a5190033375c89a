package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/joho/godotenv"

	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/system/secrets"
)

// WithDotEnv returns a lookup of variables that asks process first and then the keys in the
// file .env in dir, which need not exist. A variable that process has set wins, unless it is blank:
// docker compose exports each variable that it knows, with or without a value. Whoever wrote the current folder shall not decide where keys and questions go: so a
// key is what is called one, and others are the names in the file of all else, in order. The
// environment of the process is not changed.
//
// A line that is not NAME=value is skipped, and a folder .env is ignored. unread says in one line
// what was not read, and is empty otherwise. It does not quote the file, which holds keys.
func WithDotEnv(dir string, process func(string) (string, bool)) (lookup func(string) (string, bool), others []string, unread string) {
	path := filepath.Join(dir, ".env")
	if info, err := os.Stat(path); err == nil && info.IsDir() { // a virtual environment of Python
		return process, nil, ""
	}
	data, err := readAtMost(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return process, nil, ""
	}
	if err != nil {
		return process, nil, fmt.Sprintf("cannot read the .env file: %v; no key is taken from it", err)
	}
	if text, err := charset.Decode(data); err == nil { // a comment in another code page costs no key
		data = []byte(text)
	}
	text, skipped := assignments(data)
	vars, err := godotenv.UnmarshalBytes(text)
	if err != nil {
		return process, nil, fmt.Sprintf("%s: not every line is NAME=value; no key is taken from it", oneLine(path))
	}
	if len(skipped) > 0 {
		unread = fmt.Sprintf("%s: %s; a name has letters, digits and _, and a quote needs its end", oneLine(path), skippedLines(skipped))
	}
	for name := range vars {
		if !secrets.IsName(name) {
			others = append(others, name)
			delete(vars, name)
		}
	}
	slices.Sort(others)
	return func(name string) (string, bool) {
		value, set := process(name)
		if set && strings.TrimSpace(value) != "" {
			return value, true
		}
		if own, isThere := vars[name]; isThere && own != "" {
			return own, true
		}
		return value, set
	}, others, unread
}

// mostSkipped is how many lines a warning names.
const mostSkipped = 5

// skippedLines says which lines of a file were skipped.
func skippedLines(numbers []int) string {
	var names []string
	for _, n := range numbers[:min(len(numbers), mostSkipped)] {
		names = append(names, strconv.Itoa(n))
	}
	lines := plain.List(names)
	if more := len(numbers) - len(names); more > 0 {
		lines += " and " + plain.Count(more, "other")
	}
	if len(numbers) == 1 {
		return fmt.Sprintf("line %s is not NAME=value and was skipped", lines)
	}
	return fmt.Sprintf("lines %s are not NAME=value and were skipped", lines)
}

// assignments returns data with blanks in place of the lines that godotenv cannot read, and the
// numbers of these lines, from 1.
func assignments(data []byte) (text []byte, skipped []int) {
	text = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	line, counted := 1, 0
	for at := 0; at < len(text); {
		blank := bytes.IndexFunc(text[at:], func(r rune) bool { return !unicode.IsSpace(r) })
		if blank < 0 {
			break
		}
		at += blank
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text) - at
		}
		if text[at] != '#' {
			length := assignment(text[at:])
			if length == 0 {
				line += bytes.Count(text[counted:at], []byte("\n"))
				counted = at
				skipped = append(skipped, line)
				copy(text[at:], bytes.Repeat([]byte(" "), end))
			} else {
				end = length
			}
		}
		at += end
	}
	return text, skipped
}

// assignment returns how many bytes NAME=value has at the beginning of text, where godotenv reads one,
// else 0. A value in quotes may have several lines.
func assignment(text []byte) int {
	name := bytes.IndexAny(text, "=:\n")
	if name < 0 || text[name] == '\n' {
		return 0
	}
	for _, char := range text[:name] {
		if r := rune(char); r != '_' && r != '.' && !isBlank(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return 0
		}
	}
	value := bytes.TrimLeftFunc(text[name+1:], isBlank)
	before := len(text) - len(value)
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		for i := 1; i < len(value); i++ {
			if value[i] == value[0] && value[i-1] != '\\' {
				return before + i + 1
			}
		}
		return 0
	}
	if end := bytes.IndexAny(value, "\r\n"); end >= 0 {
		return before + end
	}
	return len(text)
}

// isBlank reports whether godotenv takes a rune for a blank within a line.
func isBlank(r rune) bool { return r != '\n' && unicode.IsSpace(r) && r <= 0xa0 }
