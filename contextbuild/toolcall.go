package contextbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
)

// Sidecalls get the conversation in a message of sections, and reply with one tool call or
// none.

// callText is the most characters of each text in such a call. It is made in every turn, and
// the facts that matter stand near the beginning.
const callText = 8000

// callSection returns a section of such a call's message. No text in it can begin a section, or
// a line like one that does.
func callSection(title, text string) string {
	return headed(title, escapeSection(cut(text, callText)))
}

func isHeading(line string) bool { return strings.HasPrefix(afterSpaces(line), "#") }

// readCall reads the only tool call of a message; a message without one gives a zero T. Its
// errors begin with doing.
func readCall[T any](doing string, message backends.Message, read func(backends.ToolCall) (T, error)) (T, error) {
	var none T
	calls := message.ToolCalls()
	switch len(calls) {
	case 0:
		return none, nil
	case 1:
		result, err := read(calls[0])
		if err != nil {
			return none, fmt.Errorf("%s: the model called %q: %w", doing, calls[0].Name, err)
		}
		return result, nil
	}
	var names []string
	for _, c := range calls {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	return none, fmt.Errorf("%s: the model called %d tools (%s), and may call one", doing, len(calls), strings.Join(names, ", "))
}

// arguments are the arguments of a tool call, by their exact names.
type arguments map[string]json.RawMessage

// argumentsOf reads the arguments of a call, and refuses unknown ones. Some services send no
// object for no arguments.
func argumentsOf(call backends.ToolCall, known ...string) (arguments, error) {
	if strings.TrimSpace(call.Arguments) == "" {
		return nil, nil
	}
	var args arguments
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		return nil, errors.New("its arguments are no JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("its argument %q is unknown", name)
		}
	}
	return args, nil
}

// line returns a text argument as one line; it is empty if it is missing.
func (a arguments) line(name string) (string, error) {
	raw, ok := a[name]
	if !ok || string(raw) == "null" {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("its %s is no text", name)
	}
	line, err := shortLine(text)
	if err != nil {
		return "", fmt.Errorf("its %s %w", name, err)
	}
	return line, nil
}

// lineLength is the most characters of a topic, a detail of it, or a fact. They stand in each
// system message.
const lineLength = 200

// shortLine returns a text as one line, or an error that describes its fault.
func shortLine(text string) (string, error) {
	line := oneLine(text)
	if n := utf8.RuneCountInString(line); n > lineLength {
		return "", fmt.Errorf("has %d characters, more than %d", n, lineLength)
	}
	return line, nil
}

// oneLine returns a text, cleaned, with single spaces between its words.
func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
