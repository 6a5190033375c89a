package debugbackend

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
	"gopkg.in/yaml.v3"
)

// facts has the values that a text of a script can use.
type facts struct {
	Question string
	Turn     int
	Round    int
	Agent    string
	Answers  []shownAnswer
}

// words is a text of a script: a template that reads the facts.
type words struct {
	line     int
	template *template.Template
}

func (w *words) UnmarshalYAML(node *yaml.Node) error {
	var text string
	if err := node.Decode(&text); err != nil {
		return fmt.Errorf("line %d: a text is wanted", node.Line)
	}
	t, err := template.New("text").Funcs(template.FuncMap{"short": short, "oneof": oneof}).Parse(text)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	w.line, w.template = node.Line, t
	return nil
}

// expander fills in the texts of a reply. It keeps the first error; its texts are useless after that.
type expander struct {
	facts facts
	err   error
}

func (x *expander) keep(err error) {
	if x.err == nil {
		x.err = err
	}
}

// text returns the expanded words, "" for nil.
func (x *expander) text(w *words) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	if err := w.template.Execute(&b, x.facts); err != nil {
		x.keep(fmt.Errorf("script: line %d: %w", w.line, err))
	}
	return b.String()
}

// short returns the first line, cut to 80 characters.
func short(text string) string {
	const most = 80
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if cut := plain.Cut(line, most); cut != line || !more {
		return cut
	}
	return line + "…"
}

// oneof returns one of the choices, always the same one for the same key.
func oneof(key, first string, others ...string) string {
	choices := append([]string{first}, others...)
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash never fails
	return choices[h.Sum32()%uint32(len(choices))]
}

// span is a number (3) or a number and all above it (3+).
type span struct {
	set    bool
	number int
	orMore bool
}

func (s *span) UnmarshalYAML(node *yaml.Node) error {
	digits, orMore := strings.CutSuffix(node.Value, "+")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a number such as 2 or 2+ is wanted, not %q", node.Line, node.Value)
	}
	*s = span{true, n, orMore}
	return nil
}

func (s span) holds(n int) bool {
	return !s.set || n == s.number || s.orMore && n > s.number
}

type duration time.Duration

func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := time.ParseDuration(node.Value)
	if err != nil || v < 0 {
		return fmt.Errorf("line %d: a duration such as 150ms is wanted, not %q", node.Line, node.Value)
	}
	*d = duration(v)
	return nil
}

type errorKind backends.Kind

func (k *errorKind) UnmarshalYAML(node *yaml.Node) error {
	kinds := []backends.Kind{
		backends.KindAuth, backends.KindRateLimit, backends.KindOverloaded, backends.KindTooLong, backends.KindBadRequest,
		backends.KindRefused, backends.KindNetwork, backends.KindTimeout, backends.KindCancelled,
	}
	if !slices.Contains(kinds, backends.Kind(node.Value)) {
		return fmt.Errorf("line %d: %q is not a kind of error; there are %q", node.Line, node.Value, kinds)
	}
	*k = errorKind(node.Value)
	return nil
}

// usage is the usage to report, or none, as of a provider that reports none.
type usage struct {
	none   bool
	tokens backends.Usage
}

func (u *usage) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.Value == "none" {
		u.none = true
		return nil
	}
	var counts map[string]int
	if err := node.Decode(&counts); err != nil {
		return fmt.Errorf("line %d: usage is none or has input_tokens, output_tokens, cached_input_tokens and reasoning_tokens", node.Line)
	}
	fields := map[string]*int{
		"input_tokens": &u.tokens.InputTokens, "output_tokens": &u.tokens.OutputTokens, "cached_input_tokens": &u.tokens.CachedInputTokens,
		"reasoning_tokens": &u.tokens.ReasoningTokens,
	}
	for key, n := range counts {
		if fields[key] == nil {
			return fmt.Errorf("line %d: unknown key %s", node.Line, key)
		}
		*fields[key] = n
	}
	return nil
}

// target is agentN or one of the rules by which a vote picks an answer.
type target string

const (
	pickFirst      target = "first"       // the first answer shown
	pickLast       target = "last"        // the last answer shown
	pickOwn        target = "own"         // the voter's own
	pickMostRecent target = "most_recent" // the newest of those shown
)

func (t *target) UnmarshalYAML(node *yaml.Node) error {
	v := target(node.Value)
	digits, literal := strings.CutPrefix(node.Value, "agent")
	if _, err := strconv.Atoi(digits); literal && err == nil {
		*t = v
		return nil
	}
	if !slices.Contains([]target{pickFirst, pickLast, pickOwn, pickMostRecent}, v) {
		return fmt.Errorf("line %d: %q is not agent1, agent2, …, first, last, own or most_recent", node.Line, node.Value)
	}
	*t = v
	return nil
}

// arguments has the arguments of a tool call: a text, which is sent as it stands and need not be JSON,
// or a mapping, which is sent as JSON. Texts are expanded in both.
type arguments struct{ node *yaml.Node }

func (a *arguments) UnmarshalYAML(node *yaml.Node) error {
	a.node = node
	_, err := filled(node, func(*words) string { return "" })
	return err
}

func (x *expander) arguments(a arguments) string {
	if a.node == nil {
		return "{}"
	}
	node, err := filled(a.node, x.text)
	if err != nil {
		x.keep(err)
		return ""
	}
	if node.Kind == yaml.ScalarNode {
		return node.Value
	}
	var value any
	err = node.Decode(&value)
	var text []byte
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err != nil {
		x.keep(fmt.Errorf("script: line %d: %w", node.Line, err))
	}
	return string(text)
}

// filled returns a copy of the node in which expand replaced each text.
func filled(node *yaml.Node, expand func(*words) string) (*yaml.Node, error) {
	copied := *node
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		var w words
		if err := w.UnmarshalYAML(node); err != nil {
			return nil, err
		}
		copied.Value = expand(&w)
		return &copied, nil
	}
	copied.Content = make([]*yaml.Node, len(node.Content))
	for i, child := range node.Content {
		c, err := filled(child, expand)
		if err != nil {
			return nil, err
		}
		copied.Content[i] = c
	}
	return &copied, nil
}
