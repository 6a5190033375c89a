package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// fate is what becomes of a key of MassGen.
type fate string

const (
	works    fate = "works"
	accepted fate = "accepted" // its loss loses nothing; it causes no warning
	warned   fate = "warning"  // it has no effect, and a run warns of it
	refused  fate = "refused"  // it guards something and cannot be translated: an error
)

// massgenKeys are keys of MassGen that have no effect here and share a fate.
type massgenKeys struct {
	fate fate
	// names are the keys, separated by white space.
	names string
	// hint is what to write in place of a key, empty for nothing.
	hint string
	// because is why a key is refused, empty for what it guards.
	because string
	// topic joins the warnings about several keys of a file in one; empty for a warning each.
	topic topic
	// follows marks keys that mean nothing unless another key of the topic is on.
	follows bool
	// harmless reports whether a value loses nothing, beside those that switch the key off.
	harmless func(n *yaml.Node) bool
}

// topic says what is different here in a feature of MassGen that several keys set. A file gets one warning
// about it.
type topic string

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
	case r.inProgram || k.fate == accepted:
	case k.topic != "":
		r.topics.mention(k, path, e, off)
	case off:
	case k.fate == refused:
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

// topics are the topics that a file mentions.
type topics struct {
	of    map[topic]*mention
	order []topic
}

// mention notes a key of a topic for warn.
func (t *topics) mention(k massgenKeys, path string, e entry, off bool) {
	m := t.of[k.topic]
	if m == nil {
		m = &mention{}
		t.of[k.topic] = m
		t.order = append(t.order, k.topic)
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

// warn warns of each topic that the file switches on.
func (t *topics) warn(d *document) {
	for _, topic := range t.order {
		m := t.of[topic]
		if m.place == nil {
			continue
		}
		message := fmt.Sprintf("%s: %s", m.path, topic)
		if len(m.names) > 0 {
			message += "; without effect beside it: " + strings.Join(m.names, ", ")
		}
		d.warn(m.place, "%s", message)
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

// Key is a key that a file may have.
type Key struct {
	// Path is the key with the keys above it, as in agents[].backend.cwd.
	Path string `json:"key"`
	// Fate says what becomes of the key here: works, accepted (its loss loses nothing), warning, or refused.
	Fate string `json:"fate"`
	// Note says what to write in its place, or what is different here; it may be empty.
	Note string `json:"note"`
}

// Keys returns all keys, by their sections: those that are read here, then those that only MassGen has.
func Keys() (all []Key) {
	for _, h := range homes() {
		for _, name := range h.names {
			all = append(all, Key{Path: join(h.path, name), Fate: string(works)})
		}
		for _, name := range h.also {
			all = append(all, Key{Path: join(h.path, name), Fate: string(works), Note: "as in MassGen"})
		}
		for _, k := range h.massgen {
			for _, name := range strings.Fields(k.names) {
				all = append(all, Key{join(h.path, name), string(k.fate), cmp.Or(string(k.topic), k.hint)})
			}
		}
	}
	return all
}
