package backends

import (
	"slices"
	"strings"
)

// The names of the tools that providers run, in journals, results and tables of prices. Providers
// have names of their own.
const (
	WebSearch     = "web_search"
	WebFetch      = "web_fetch"
	CodeExecution = "code_execution"
)

// IsHosted reports whether a tool's name is one of these.
func IsHosted(name string) bool {
	return name == WebSearch || name == WebFetch || name == CodeExecution
}

// defaultMaxUses is how often a call may use each hosted tool when the configuration does not say.
const defaultMaxUses = 5

// HostedTools are the tools that the provider runs within a call of its model, so that their
// results come with the answer. The zero value has no tool.
type HostedTools struct {
	WebSearch bool `json:"web_search,omitempty"`
	WebFetch  bool `json:"web_fetch,omitempty"`
	// CodeInterpreter is OpenAI's name of a tool, CodeExecution the name of the same tool elsewhere. They
	// are separate so that an error names the key that the configuration has.
	CodeInterpreter bool `json:"code_interpreter,omitempty"`
	CodeExecution   bool `json:"code_execution,omitempty"`
	// MaxUses is how often one call may use each of them, where the provider lets one limit that; 0
	// means defaultMaxUses.
	MaxUses int `json:"max_uses,omitempty"`
}

// Code reports whether the model may run code.
func (h HostedTools) Code() bool { return h.CodeInterpreter || h.CodeExecution }

// Any reports whether there is a hosted tool.
func (h HostedTools) Any() bool { return h.WebSearch || h.WebFetch || h.Code() }

// Uses returns how often one call may use each of them.
func (h HostedTools) Uses() int {
	if h.MaxUses > 0 {
		return h.MaxUses
	}
	return defaultMaxUses
}

// Names returns the names of the tools.
func (h HostedTools) Names() (names []string) {
	for _, t := range []struct {
		name string
		is   bool
	}{{WebSearch, h.WebSearch}, {WebFetch, h.WebFetch}, {CodeExecution, h.Code()}} {
		if t.is {
			names = append(names, t.name)
		}
	}
	return names
}

// Key returns the key of a configuration that asks for the tool of a name.
func (h HostedTools) Key(name string) string {
	switch {
	case name == WebSearch:
		return "enable_web_search"
	case name == CodeExecution && h.CodeInterpreter:
		return "enable_code_interpreter"
	case name == CodeExecution:
		return "enable_code_execution"
	}
	return name
}

// Check returns a *ParamError for the first tool that is not in has, the names of those that the
// model has. The cure ends its message.
func (h HostedTools) Check(model string, has []string, cure string) error {
	for _, name := range h.Names() {
		if !slices.Contains(has, name) {
			return NewParamError(h.Key(name), "%s has no %s of its own: %s", model, strings.ReplaceAll(name, "_", " "), cure)
		}
	}
	return nil
}

// HostedCall is a call of a hosted tool. As an event it comes twice: when the call begins, with Open
// set, and when its result is there. As a part of a message it has the result. It is for people, and
// is never sent back: the provider gets the Opaque parts beside it.
type HostedCall struct {
	// ID is unique within the message. Name is WebSearch, WebFetch or CodeExecution.
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
	// Result is the part of the result that people see. Error reports whether it describes a failure.
	Result string `json:"result,omitempty"`
	Error  bool   `json:"error,omitempty"`
	Open   bool   `json:"open,omitempty"`
}

// Citation is a source that a model names for what it says. Like a HostedCall it is for people, and
// is not sent back.
type Citation struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	// Text is the passage of the source, empty where the provider does not quote it.
	Text string `json:"text,omitempty"`
}

func (HostedCall) event()       {}
func (HostedCall) part() string { return "hosted_call" }
func (Citation) event()         {}
func (Citation) part() string   { return "citation" }

// HostedCalls returns the calls of hosted tools in the message, in order.
func (m Message) HostedCalls() []HostedCall { return partsOf[HostedCall](m) }

// Citations returns the sources that the message names, each once.
func (m Message) Citations() []Citation { return partsOf[Citation](m) }

func partsOf[P Part](m Message) (list []P) {
	for _, p := range m.Parts {
		if of, ok := p.(P); ok {
			list = append(list, of)
		}
	}
	return list
}

// The most of a message's hosted calls and citations that are kept, and the most characters of
// their texts. The rest is dropped.
const (
	mostHosted     = 100
	mostHostedText = 20_000
)

// hostedParts are the parts of a response that are only for people. They come after the others.
type hostedParts struct {
	calls     []HostedCall
	citations []Citation
}

func (h *hostedParts) addCall(c HostedCall) {
	c.Arguments, c.Result = cutText(c.Arguments), cutText(c.Result)
	i := slices.IndexFunc(h.calls, func(o HostedCall) bool { return o.ID == c.ID })
	switch {
	case i >= 0:
		if c.Arguments == "" {
			c.Arguments = h.calls[i].Arguments
		}
		h.calls[i] = c
	case len(h.calls) < mostHosted:
		h.calls = append(h.calls, c)
	}
}

// addCitation adds a source, unless one with its address is there.
func (h *hostedParts) addCitation(c Citation) {
	known := slices.ContainsFunc(h.citations, func(o Citation) bool { return o.URL == c.URL })
	if c.URL == "" || known || len(h.citations) == mostHosted {
		return
	}
	c.Title, c.Text = cutText(c.Title), cutText(c.Text)
	h.citations = append(h.citations, c)
}

func (h *hostedParts) parts() (parts []Part) {
	for _, c := range h.calls {
		parts = append(parts, c)
	}
	for _, c := range h.citations {
		parts = append(parts, c)
	}
	return parts
}

func cutText(text string) string {
	if len(text) <= mostHostedText {
		return text
	}
	return strings.ToValidUTF8(text[:mostHostedText], "") + "…"
}
