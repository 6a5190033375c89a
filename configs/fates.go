package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Fate is what becomes of a key of MassGen.
type Fate string

// The fates of keys.
const (
	// Works is the fate of a key that has its effect here.
	Works Fate = "works"
	// Accepted is the fate of a key whose loss loses nothing. It causes no warning.
	Accepted Fate = "accepted"
	// Warned is the fate of a key without effect, of which a run warns.
	Warned Fate = "warning"
	// Refused is the fate of a key that guards something and cannot be translated. It is an error.
	Refused Fate = "refused"
)

// massgenKeys are keys of MassGen that have no effect here and share a fate.
type massgenKeys struct {
	fate Fate
	// names are the keys, separated by white space.
	names string
	// hint is what to write in place of a key, empty for nothing.
	hint string
	// because is why a key is refused, empty for what it guards.
	because string
	// topic joins the warnings about several keys of a file in one; nil for a warning each.
	topic *topic
	// follows marks keys that mean nothing unless another key of the topic is on.
	follows bool
	// harmless reports whether a value loses nothing, beside those that switch the key off.
	harmless func(n *yaml.Node) bool
}

// topic is a feature of MassGen that several keys set. A file gets one warning about it.
type topic struct {
	// lost says what is different here.
	lost string
}

// mention is what a file says about a topic.
type mention struct {
	place *yaml.Node // of the first key that switches the topic on, nil for none
	path  string
	names []string // of the other keys
}

func (t massgenKeys) has(name string) bool { return slices.Contains(strings.Fields(t.names), name) }

// massgen reads a key of MassGen that has no effect here. It returns false for other keys.
func (r *reader) massgen(path string, e entry, all []massgenKeys) bool {
	i := slices.IndexFunc(all, func(k massgenKeys) bool { return k.has(e.key.Value) })
	if i < 0 {
		return false
	}
	k := all[i]
	r.doc.massgen = true
	off := isOff(e.value) || k.harmless != nil && k.harmless(deref(e.value))
	switch {
	case r.inProgram || k.fate == Accepted:
	case k.topic != nil:
		r.mention(k, path, e, off)
	case off:
	case k.fate == Refused:
		because := cmp.Or(k.because, "guards something in MassGen that this program cannot translate")
		r.doc.fail(e.key, "%s %s; %s", path, because, k.hint)
	default:
		message := path + " is a key of MassGen that has no effect here"
		if k.hint != "" {
			message += "; " + k.hint
		}
		r.doc.warn(e.key, "%s", message)
	}
	return true
}

// mention notes a key of a topic for tellTopics.
func (r *reader) mention(k massgenKeys, path string, e entry, off bool) {
	m := r.topics[k.topic]
	if m == nil {
		m = &mention{}
		r.topics[k.topic] = m
		r.topicOrder = append(r.topicOrder, k.topic)
	}
	name := e.key.Value
	switch {
	case off && !k.follows:
	case !k.follows && m.place == nil:
		m.place, m.path = e.key, path
		m.names = slices.DeleteFunc(m.names, func(other string) bool { return other == name })
	case !off && !slices.Contains(m.names, name) && !strings.HasSuffix(m.path, "."+name):
		m.names = append(m.names, name)
	}
}

// tellTopics warns of each topic that the file switches on.
func (r *reader) tellTopics() {
	for _, t := range r.topicOrder {
		m := r.topics[t]
		if m.place == nil {
			continue
		}
		message := fmt.Sprintf("%s: %s", m.path, t.lost)
		if len(m.names) > 0 {
			message += "; without effect beside it: " + strings.Join(m.names, ", ")
		}
		r.doc.warn(m.place, "%s", message)
	}
}

// isOff reports whether a value switches its key off: false by any of its words, null, 0, nothing, or
// a mapping with enabled: false.
func isOff(n *yaml.Node) bool {
	n = deref(n)
	switch n.Kind {
	case yaml.SequenceNode:
		return len(n.Content) == 0
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "enabled" {
				return isOff(n.Content[i+1])
			}
		}
		return len(n.Content) == 0
	case yaml.ScalarNode:
		on, isBoolean := boolean().parse(literal(n))
		return isNull(n) || n.Value == "" || n.Value == "0" || isBoolean && !on
	}
	return false
}

// isOneOfWords returns a harmless function for some words.
func isOneOfWords(words ...string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && slices.Contains(words, n.Value) }
}

// KeyFate is a key with its fate.
type KeyFate struct {
	// Path is the key with the keys above it, as in agents[].backend.cwd.
	Path string
	Fate Fate
	// Note says what to write in its place, or what is different here; it may be empty.
	Note string
}

// KeyFates returns all keys that a file may have, by their sections: those that are read here, then
// those that only MassGen has.
func KeyFates() (all []KeyFate) {
	for _, h := range homes() {
		for _, name := range h.names {
			all = append(all, KeyFate{Path: join(h.path, name), Fate: Works})
		}
		for _, name := range h.also {
			all = append(all, KeyFate{Path: join(h.path, name), Fate: Works, Note: "as in MassGen"})
		}
		for _, k := range h.massgen {
			note := k.hint
			if k.topic != nil {
				note = k.topic.lost
			}
			for _, name := range strings.Fields(k.names) {
				all = append(all, KeyFate{Path: join(h.path, name), Fate: k.fate, Note: note})
			}
		}
	}
	return all
}
