package configs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/plain"
)

// parser makes a value of a scalar; wanted describes valid scalars in a message.
type parser[V any] struct {
	wanted string
	parse  func(s scalar) (V, bool)
}

// scalar is a scalar of the file, its variables replaced.
type scalar struct {
	text string
	// tag is yaml's: !!int for 5, !!str for "5".
	tag    string
	quoted bool
	// loose reports whether the text came from a variable, so that the tag does not matter.
	loose bool
	// source is the text as written. Messages show it, so that they never have the value of a
	// variable.
	source string
}

// is reports whether the scalar may be of one of the types that tags name.
func (s scalar) is(tags ...string) bool {
	return s.loose || slices.Contains(tags, s.tag)
}

// value reads a scalar into a field. Null leaves the field as it is.
func value[T, V any](p parser[V], field func(*T) *V) item[T] {
	return item[T]{
		shape: p.shape,
		read: func(r *reader, at string, n *yaml.Node, t *T) {
			if v, ok := parseScalar(r, at, n, p); ok {
				*field(t) = v
			}
		},
		show: func(t *T) string { return fmt.Sprint(*field(t)) },
	}
}

// optional is value for a field that is nil while it is absent.
func optional[T, V any](p parser[V], field func(*T) **V) item[T] {
	return item[T]{
		shape: p.shape,
		read: func(r *reader, at string, n *yaml.Node, t *T) {
			if v, ok := parseScalar(r, at, n, p); ok {
				*field(t) = &v
			}
		},
		show: func(t *T) string {
			if *field(t) == nil {
				return ""
			}
			return fmt.Sprint(**field(t))
		},
	}
}

// inSeconds reads a number of seconds into a field.
func inSeconds[T any](least float64, field func(*T) *time.Duration) item[T] {
	i := value(seconds(least), field)
	i.show = func(t *T) string { return fmt.Sprint(field(t).Seconds()) }
	return i
}

// mapping reads a mapping by its own section of the table. It makes the section once, since there
// is a mapping for each agent.
func mapping[T, S any](sec func() section[S], field func(*T) *S) item[T] {
	keys := sync.OnceValue(sec)
	return by(func(r *reader, at string, n *yaml.Node, t *T) {
		readSection(r, at, n, keys(), field(t))
	}).of(func() shape { return shapeOf(keys()) })
}

func text[T any](field func(*T) *string) item[T] {
	return value(textParser(), field)
}

func enum[T any, V ~string](field func(*T) *V, allowed ...V) item[T] {
	return value(parser[V]{
		wanted: "one of " + joined(allowed, ", "),
		parse: func(s scalar) (V, bool) {
			return V(s.text), slices.Contains(allowed, V(s.text))
		},
	}, field)
}

// displayType accepts all display types of MassGen. Those that are not here are simple.
func (r *reader) displayType(at string, n *yaml.Node, u *UI) {
	typ := u.DisplayType
	enum(func(t *string) *string { return t }, displaySimple, DisplaySilent, "rich_terminal", "textual_terminal").read(r, at, n, &typ)
	if typ != DisplaySilent {
		typ = displaySimple
	}
	u.DisplayType = typ
}

func joined[V any](list []V, separator string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, separator)
}

// parseScalar returns false for null, and after an issue.
func parseScalar[V any](r *reader, at string, n *yaml.Node, p parser[V]) (v V, ok bool) {
	n = deref(n)
	if isNull(n) {
		return v, false
	}
	if n.Kind != yaml.ScalarNode {
		r.doc.fail(n, "%s is %s; it must be %s", at, kindName(n), p.wanted)
		return v, false
	}
	s, ok := r.scalar(at, n)
	if !ok {
		return v, false
	}
	if v, ok = p.parse(s); ok {
		return v, true
	}
	wanted := p.wanted
	bare := s
	bare.loose = true
	if _, quotesHurt := p.parse(bare); quotesHurt && s.quoted {
		wanted += " without quotes"
	}
	r.doc.fail(n, "%s is %s; it must be %s", at, s.shown(), wanted)
	return v, false
}

func (r *reader) scalar(at string, n *yaml.Node) (scalar, bool) {
	expanded, ok := r.expand(at, n, n.Value)
	s := literal(n)
	s.text, s.loose = expanded, expanded != n.Value
	return s, ok
}

// literal is a node's scalar with its variables as they stand.
func literal(n *yaml.Node) scalar {
	n = deref(n)
	return scalar{
		text:   n.Value,
		tag:    n.ShortTag(),
		quoted: n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0,
		source: n.Value,
	}
}

func (s scalar) shown() string {
	if s.tag == "!!str" || s.quoted {
		return quoted(s.source)
	}
	return s.source
}

// quoted shortens a value of the file for a message.
func quoted(s string) string { return strconv.Quote(plain.Cut(s, 40)) }

func textParser() parser[string] {
	return parser[string]{"text in quotes", func(s scalar) (string, bool) {
		return s.text, s.is("!!str")
	}}
}

// boolean accepts the words of YAML 1.1, as MassGen does.
func boolean() parser[bool] {
	return parser[bool]{"true or false", func(s scalar) (bool, bool) {
		if s.quoted && !s.loose {
			return false, false
		}
		switch strings.ToLower(s.text) {
		case "true", "yes", "on":
			return true, true
		case "false", "no", "off":
			return false, true
		}
		return false, false
	}}
}

func number(least, most float64) parser[float64] {
	return parser[float64]{fmt.Sprintf("a number from %v to %v", least, most), func(s scalar) (float64, bool) {
		v, ok := s.float()
		return v, ok && v >= least && v <= most
	}}
}

// float may return an infinity or NaN; callers' ranges refuse both.
func (s scalar) float() (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s.text, "_", ""), 64)
	return v, err == nil && s.is("!!int", "!!float")
}

func integer[V int | int64](least, most V) parser[V] {
	wanted := fmt.Sprintf("a whole number from %d to %d", least, most)
	if int64(least) == math.MinInt64 {
		wanted = "a whole number of 64 bits"
	}
	return parser[V]{wanted, func(s scalar) (V, bool) {
		v, err := strconv.ParseInt(strings.ReplaceAll(s.text, "_", ""), 0, 64)
		return V(v), err == nil && s.is("!!int") && v >= int64(least) && v <= int64(most)
	}}
}

// longest keeps times far from overflow: 30 days.
const longest = 30 * 24 * time.Hour

func seconds(least float64) parser[time.Duration] {
	wanted := fmt.Sprintf("a number of seconds from %v to %.0f", least, longest.Seconds())
	return parser[time.Duration]{wanted, func(s scalar) (time.Duration, bool) {
		if v, ok := s.float(); ok && v >= least && v <= longest.Seconds() {
			return time.Duration(v * float64(time.Second)), true
		}
		return 0, false
	}}
}

// duration accepts Go's notation, and a bare number as seconds.
func duration() parser[time.Duration] {
	return parser[time.Duration]{"a time such as 90s or 2m, at most 720h", func(s scalar) (time.Duration, bool) {
		if d, ok := seconds(0).parse(s); ok {
			return d, true
		}
		d, err := time.ParseDuration(s.text)
		return d, err == nil && d >= 0 && d <= longest
	}}
}
