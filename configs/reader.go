package configs

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// reader walks the nodes of one file along the table of keys.
type reader struct {
	doc     *document
	opts    Options
	secrets *Secrets
	// agentPaths holds the agents' paths in the order of the file, and contexts the node of
	// each agent's context by path.
	agentPaths []string
	contexts   map[string]*yaml.Node
	// inServers reports whether MCP servers are being read, in which ${cwd} is the agent's folder.
	inServers bool
	// security is what the server that is being read allows, nil for anything.
	security *serverSecurity
	// inProgram reports whether the backend that is being read is a program of others, whose run ends
	// before any call.
	inProgram bool
	topics    topics
}

// document is a YAML file with its issues.
type document struct {
	file string
	// simulated holds the key type of each backend that is a simulated member, by the backend's path.
	simulated map[string]*yaml.Node
	issues    []Issue
	warnings  []Issue
	remarks   []Issue
	// massgen reports whether the file has a key that only MassGen knows.
	massgen bool
	// places holds the node of each key that was read, by its path, for checks
	// that look at several keys.
	places map[string]*yaml.Node
	// given holds the paths of the keys that have a value.
	given map[string]bool
}

func (d *document) fail(n *yaml.Node, format string, args ...any) {
	d.issues = append(d.issues, d.issue(n, format, args...))
}

func (d *document) warn(n *yaml.Node, format string, args ...any) {
	d.warnings = append(d.warnings, d.issue(n, format, args...))
}

// remark adds an issue that a run does not report.
func (d *document) remark(n *yaml.Node, format string, args ...any) {
	d.remarks = append(d.remarks, d.issue(n, format, args...))
}

func (d *document) issue(n *yaml.Node, format string, args ...any) Issue {
	return Issue{File: d.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)}
}

// readSection reads the mapping n, found at the path at, into t. It returns false after an
// issue.
func readSection[T any](r *reader, at string, n *yaml.Node, sec section[T], t *T) bool {
	before := len(r.doc.issues)
	for _, e := range r.doc.entries(at, n) {
		path := join(at, e.key.Value)
		if i := slices.IndexFunc(sec.keys, func(k key[T]) bool { return k.name == e.key.Value }); i >= 0 {
			r.doc.places[path] = e.key
			if r.doc.given == nil {
				r.doc.given = map[string]bool{}
			}
			r.doc.given[path] = !isNull(e.value)
			sec.keys[i].read(r, path, e.value, t)
			continue
		}
		if i := slices.IndexFunc(sec.also, func(k key[T]) bool { return k.name == e.key.Value }); i >= 0 {
			r.doc.places[path] = e.key
			sec.also[i].read(r, path, e.value, t)
			continue
		}
		if r.massgen(path, e, sec.massgen) {
			continue
		}
		names := sec.names()
		if len(names) == 0 { // a section that is MassGen's
			names = namesIn(sec.also)
		}
		r.doc.unknown(e.key, at, names)
	}
	return len(r.doc.issues) == before
}

func (d *document) unknown(n *yaml.Node, at string, names []string) {
	where := ""
	if at != "" {
		where = " in " + at
	}
	cure := "known here: " + strings.Join(names, ", ")
	if moved, ok := movedKeys()[n.Value]; ok {
		cure = moved
	} else if near, ok := Nearest(n.Value, names); ok {
		cure = fmt.Sprintf("did you mean %s?", near)
	} else if home, ok := whereIs(n.Value); ok {
		cure = "it belongs " + home
	}
	d.fail(n, "unknown key %q%s; %s", n.Value, where, cure)
}

// movedKeys are keys of MassGen whose settings stand in several places here, with the places.
func movedKeys() map[string]string {
	return map[string]string{"filesystem": "its cwd belongs in the agent's backend, its context_paths in orchestrator"}
}

func (s section[T]) names() []string { return namesIn(s.keys) }

func namesIn[T any](keys []key[T]) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

type entry struct{ key, value *yaml.Node }

// entries returns the pairs of a mapping in their order, then what merge keys
// (<<) add. Null is an empty mapping. Keys that are not text, and keys given
// twice, are issues and left out.
func (d *document) entries(at string, n *yaml.Node) []entry {
	n = deref(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s is %s; it must be a mapping of keys to values", orRoot(at), kindName(n))
		return nil
	}
	own, merges := d.ownEntries(at, n)
	taken := map[string]bool{}
	for _, e := range own {
		taken[e.key.Value] = true
	}
	seen := map[*yaml.Node]bool{}
	for len(merges) > 0 {
		source := deref(merges[0])
		merges = merges[1:]
		switch {
		case seen[source]:
			continue
		case source.Kind == yaml.SequenceNode:
			seen[source] = true
			merges = append(slices.Clone(source.Content), merges...)
			continue
		case source.Kind != yaml.MappingNode:
			d.fail(source, "<< in %s takes a mapping, or a list of them", orRoot(at))
			continue
		}
		seen[source] = true
		added, more := d.ownEntries(at, source)
		for _, e := range added {
			if !taken[e.key.Value] {
				taken[e.key.Value] = true
				own = append(own, e)
			}
		}
		merges = append(more, merges...)
	}
	return own
}

func (d *document) ownEntries(at string, n *yaml.Node) (own []entry, merges []*yaml.Node) {
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := deref(n.Content[i]), n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" && k.ShortTag() != "!!merge":
			d.fail(k, "a key in %s is not text; put it in quotes", orRoot(at))
		case k.ShortTag() == "!!merge":
			merges = append(merges, v)
		case first[k.Value] != nil:
			d.fail(k, "%s is given twice, first on line %d; keep one", join(at, k.Value), first[k.Value].Line)
		default:
			first[k.Value] = k
			own = append(own, entry{k, v})
		}
	}
	return own, merges
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func orRoot(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}

// list returns the items of a list. Null is an empty list. wanted describes the list in a
// message.
func (d *document) list(at string, n *yaml.Node, wanted string) []*yaml.Node {
	n = deref(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "%s is %s; it must be %s", at, kindName(n), wanted)
		return nil
	}
	return n.Content
}

// deref follows an alias to the node that it names.
func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = deref(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// kindName does not show a value, which may be a misplaced secret.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}
