package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/secrets"
)

func (r *reader) agents(at string, n *yaml.Node, c *Config) {
	list := r.doc.list(at, n, "a list of agents, each with a leading dash")
	if len(list) > mostAgents {
		r.doc.fail(n, "%s has %d entries; a panel has at most %d", at, len(list), mostAgents)
		return
	}
	keys := agentSection()
	for i, item := range list {
		r.oneAgent(fmt.Sprintf("%s[%d]", at, i), item, keys, c)
	}
}

// mostAgents is more than a panel can use, and few enough to look at each with all others.
const mostAgents = 5000

func (r *reader) agent(at string, n *yaml.Node, c *Config) {
	if !isNull(n) {
		r.oneAgent(at, n, agentSection(), c)
	}
}

func (r *reader) oneAgent(at string, n *yaml.Node, keys section[Agent], c *Config) {
	a := Agent{ID: fmt.Sprintf("agent%d", len(c.Agents)+1)}
	r.inProgram = isProgram(n)
	defer func() { r.inProgram = false }()
	if readSection(r, at, n, keys, &a) && !namesModel(a.Backend) {
		r.doc.fail(n, "%s has no backend; add backend: with a type, such as auto, or a model", at)
	}
	r.doc.places[idPlace(len(c.Agents))] = n
	r.agentPaths = append(r.agentPaths, at)
	c.Agents = append(c.Agents, a)
}

func idPlace(i int) string { return fmt.Sprintf("the id of agent %d", i) }

const longestID = 64

func (r *reader) agentID(at string, n *yaml.Node, a *Agent) {
	a.ID = "" // an id that is refused must not be taken for another agent's
	id, ok := parseScalar(r, at, n, textParser())
	switch err := CheckID(id); {
	case ok && id == "" || isNull(n):
		r.doc.fail(n, "%s is empty; give it a name, or leave the key out", at)
	case ok && err != nil:
		r.doc.fail(n, "%s %v", at, err)
	case ok:
		a.ID = id
	}
}

// isProgram reports whether the backend of an agent is a program of others.
func isProgram(agent *yaml.Node) bool {
	var a struct {
		Backend struct {
			Type string `yaml:"type"`
		} `yaml:"backend"`
	}
	return agent.Decode(&a) == nil && Backend{Type: a.Backend.Type}.Program() != ""
}

// CheckID says what is wrong with the id of an agent, in words that follow the name of what has
// it.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("is empty; give it a name")
	case strings.ContainsFunc(id, unfitForID) || strings.Trim(id, ".-") != id || utf8.RuneCountInString(id) > longestID:
		return fmt.Errorf("is %s; use letters, digits, '_', '-' and '.', not '-' or '.' at either end, %d characters at most", quoted(id), longestID)
	}
	return nil
}

// unfitForID keeps ids fit for labels (ID.2), file names and messages.
func unfitForID(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.", c)
}

func (r *reader) backendType(at string, n *yaml.Node, b *Backend) {
	typ, ok := parseScalar(r, at, n, textParser())
	if !ok {
		return
	}
	b.Type = typ
	if typ != "" {
		r.isBackendType(n, at, typ)
	}
	if typ == simulatedType {
		r.doc.addSimulated(strings.TrimSuffix(at, ".type"))
	}
}

func (r *reader) baseURL(at string, n *yaml.Node, b *Backend) {
	b.BaseURL = r.address(at, n, "http://localhost:11434/v1")
}

// address reads a URL, which may hold a secret. It is empty for null, and after an
// issue.
func (r *reader) address(at string, n *yaml.Node, example string) string {
	v, ok := r.secretLine(at, n)
	if !ok {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.doc.fail(n, "%s must be a URL such as %s", at, example)
		return ""
	}
	r.secrets.AddURL(v)
	r.warnShort(n, r.secrets.WarnShortInURL(at, v))
	return v
}

// warnShort adds a warning about a short secret, unless it is empty.
func (r *reader) warnShort(n *yaml.Node, warning string) {
	if warning != "" {
		r.doc.warn(n, "%s", warning)
	}
}

func (r *reader) apiKey(at string, n *yaml.Node, b *Backend) {
	if v, ok := r.secretLine(at, n); ok {
		b.APIKey = v
		r.secrets.Add(v)
		r.warnShort(n, r.secrets.WarnShort(at, v))
	}
}

// secretLine reads a text of one line that no message may show, not even if it
// is wrong.
func (r *reader) secretLine(at string, n *yaml.Node) (string, bool) {
	n = deref(n)
	if isNull(n) {
		return "", false
	}
	var s scalar
	if n.Kind == yaml.ScalarNode {
		var ok bool
		if s, ok = r.scalar(at, n); !ok {
			return "", false
		}
	}
	if !s.is("!!str") || strings.ContainsFunc(s.text, isControl) {
		r.doc.fail(n, "%s must be text in quotes, on one line", at)
		return "", false
	}
	return s.text, true
}

// stop takes one text or a list of texts.
func (r *reader) stop(at string, n *yaml.Node, b *Backend) {
	n = deref(n)
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	p := parser[string]{"text, or a list of texts, none of them empty", func(s scalar) (string, bool) {
		return s.text, s.is("!!str") && s.text != ""
	}}
	for _, item := range items {
		if v, ok := parseScalar(r, at, item, p); ok {
			b.Params.Stop = append(b.Params.Stop, v)
		}
	}
}

func (r *reader) headers(at string, n *yaml.Node, b *Backend) { r.headerMap(at, n, &b.Params.Headers) }

// headerMap adds headers to those that are there.
func (r *reader) headerMap(at string, n *yaml.Node, headers *map[string]string) {
	first := map[string]*yaml.Node{}
	for _, e := range r.doc.entries(at, n) {
		name := e.key.Value
		if same := first[strings.ToLower(name)]; same != nil {
			r.doc.fail(e.key, "%s has %s twice (case does not count), first on line %d; keep one", at, quoted(name), same.Line)
			continue
		}
		first[strings.ToLower(name)] = e.key
		if name == "" || strings.ContainsFunc(name, unfitForHeader) {
			r.doc.fail(e.key, "%s has %s, which is no header name; use letters, digits and '-'", at, quoted(name))
			continue
		}
		if slices.Contains(ownHeaders(), http.CanonicalHeaderKey(name)) {
			r.doc.fail(e.key, "%s has %s, which massgen sets itself; leave it out", at, quoted(name))
			continue
		}
		same := func(other string) bool { return strings.EqualFold(other, name) }
		if slices.ContainsFunc(slices.Collect(maps.Keys(*headers)), same) {
			r.doc.fail(e.key, "%s has %s a second time (case does not count, and headers and extra_headers are one list); keep one", at, quoted(name))
			continue
		}
		v, ok := r.secretLine(join(at, name), e.value)
		if !ok {
			continue
		}
		r.secrets.Add(secrets.InHeader(name, v)...)
		if secrets.NamesAKey(name) {
			_, credentials, found := strings.Cut(v, " ")
			if !found {
				credentials = v
			}
			r.warnShort(e.value, r.secrets.WarnShort(join(at, name), credentials))
		}
		if *headers == nil {
			*headers = map[string]string{}
		}
		(*headers)[name] = v
	}
}

// ownHeaders belong to the connection: set to something else, they have no effect or
// break it.
func ownHeaders() []string {
	return []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "Trailer", "Transfer-Encoding"}
}

func unfitForHeader(c rune) bool {
	return c > unicode.MaxASCII || unfitForID(c)
}

// extraBody takes any mapping that JSON can hold.
func (r *reader) extraBody(at string, n *yaml.Node, b *Backend) {
	n = deref(n)
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.doc.fail(n, "%s is %s; it must be a mapping of keys to values", at, kindName(n))
		return
	}
	var body map[string]any
	if err := n.Decode(&body); err != nil {
		r.doc.fail(n, "%s cannot be read: %s", at, yamlReason(err))
		return
	}
	expanded, ok := r.expandAll(at, n, body, false).(map[string]any)
	if _, err := json.Marshal(expanded); err != nil || !ok {
		r.doc.fail(n, "%s holds something that JSON cannot; use text keys, and plain numbers and texts", at)
		return
	}
	b.Params.ExtraBody = expanded
	for _, name := range []string{"messages", "model", "tools"} {
		if _, replaced := expanded[name]; replaced {
			r.doc.warn(n, "%s replaces the %s of every call; agents need those that massgen sends", at, name)
		}
	}
}

// expandAll replaces the variables in all texts of v. Whatever stands below a name
// of secrets is secret.
func (r *reader) expandAll(at string, n *yaml.Node, v any, secret bool) any {
	switch v := v.(type) {
	case string:
		s, _ := r.expand(at, n, v)
		if secret {
			r.secrets.Add(s)
		}
		return s
	case []any:
		for i := range v {
			v[i] = r.expandAll(at, n, v[i], secret)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = r.expandAll(at, n, v[k], secret || secrets.IsName(k))
			if s, ok := v[k].(string); ok && secrets.NamesAKey(k) {
				r.warnShort(n, r.secrets.WarnShort(join(at, k), s))
			}
		}
	}
	return v
}

// yamlReason is yaml's own reason, on one line.
func yamlReason(err error) string {
	var typeErr *yaml.TypeError
	if errors.As(err, &typeErr) && len(typeErr.Errors) > 0 {
		return typeErr.Errors[0]
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}
