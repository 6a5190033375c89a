package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
)

// OpenAI calls the tools that it runs itself built-in tools ("Web search" and "Code interpreter" in
// its guides), which the Responses API alone has. xAI has them there too ("Tools" in its docs).
// Each call is an item of the response, kept as an opaque part like the items of reasoning. Some
// models of OpenAI's search in each chat completion, and OpenRouter has a plugin that searches for
// any model; both name their sources as annotations.

// builtInTools are the Dialect.Hosted of OpenAI.
const builtInTools = "web_search code_execution"

// callsOverResponses reports whether a call goes over the Responses API: since its model does, or
// since it has tools that only this API has.
func (d Dialect) callsOverResponses(model string, h backends.HostedTools) bool {
	return d.OverResponses(model) || d.API == "" && h.Any() && d.HostedGoThere && !searchesInChat(model)
}

// searchesInChat reports whether a model searches in chat completions: gpt-4o-search-preview,
// gpt-5-search-api and the like.
func searchesInChat(model string) bool { return strings.Contains(model, "-search") }

// checkHosted returns a *backends.ParamError for a hosted tool that the model does not have.
func (d Dialect) checkHosted(model string, p backends.Params) error {
	h := p.Hosted
	const cure = "leave it out, or use an MCP server that does this"
	switch {
	case !h.Any():
		return nil
	case d.callsOverResponses(model, h) && h.WebSearch && p.ReasoningEffort == "minimal":
		return backends.NewParamError("reasoning_effort", "%s has no web search with minimal effort: take low or more", model)
	case d.callsOverResponses(model, h):
		return h.Check(model, strings.Fields(d.Hosted), cure)
	case d.WebPlugin, searchesInChat(model):
		return h.Check(model, []string{backends.WebSearch}, cure)
	case d.Hosted != "" || d.OwnResponses:
		return h.Check(model, nil, "chat completions have none; set api: responses if the service has it, or use an MCP server that does this")
	}
	return h.Check(model, nil, "the service is not known for one; "+cure)
}

// hostedTools are the built-in tools of a request over the Responses API.
func hostedTools(h backends.HostedTools) (list []any) {
	if h.WebSearch {
		list = append(list, map[string]any{"type": "web_search"})
	}
	if h.Code() {
		list = append(list, map[string]any{"type": "code_interpreter", "container": map[string]any{"type": "auto"}})
	}
	return list
}

// addHosted adds the built-in tools to the fields of a request, before the others.
func (e encoder) addHosted(fields map[string]any, req *backends.Request) error {
	h := req.Params.Hosted
	list := hostedTools(h)
	if len(list) == 0 {
		return nil
	}
	include, _ := fields["include"].([]goopenai.ResponseInclude)
	if h.WebSearch {
		include = append(include, goopenai.ResponseIncludeWebSearchCallActionSources)
	}
	if h.Code() {
		include = append(include, goopenai.ResponseIncludeCodeInterpreterCallOutputs)
	}
	fields["include"] = include
	if e.dialect.LimitsHosted {
		fields["max_tool_calls"] = h.Uses() // of all together: a budget reserves no more searches
	}
	functions, err := encodeItemTools(req.Tools)
	if err != nil {
		return err
	}
	for _, f := range functions {
		list = append(list, f)
	}
	fields["tools"] = list
	return nil
}

// addChatSearch asks for a search in a chat completion.
func (e encoder) addChatSearch(fields map[string]any, h backends.HostedTools) {
	switch {
	case !h.WebSearch:
	case e.dialect.WebPlugin:
		fields["plugins"] = []any{map[string]any{"id": "web"}}
	default:
		fields["web_search_options"] = struct{}{}
	}
}

// annotation is a source of a text: of OpenAI's Responses API as it stands, of chat completions
// within url_citation.
type annotation struct {
	Type     string      `json:"type"`
	URL      string      `json:"url"`
	Title    string      `json:"title"`
	Content  string      `json:"content"`
	Citation *annotation `json:"url_citation"`
}

// annotations are read one by one. One that cannot be read is ignored.
type annotations []json.RawMessage

// UnmarshalJSON takes any JSON. Only a list has sources.
func (list *annotations) UnmarshalJSON(data []byte) error {
	var all []json.RawMessage
	if json.Unmarshal(data, &all) == nil {
		*list = all
	}
	return nil
}

func (list annotations) events() (events []backends.Event) {
	for _, raw := range list {
		var a annotation
		if json.Unmarshal(raw, &a) != nil || a.Type != "url_citation" {
			continue
		}
		if a.Citation != nil {
			a = *a.Citation
		}
		if a.URL != "" {
			events = append(events, backends.Citation{URL: a.URL, Title: a.Title, Text: a.Content})
		}
	}
	return events
}

// sources returns the sources that an item's texts name. Events may have named them before.
func (at *openItem) sources() (events []backends.Event) {
	for _, c := range at.Content {
		events = append(events, c.Annotations.events()...)
	}
	return events
}

// hostedItem has the fields of a built-in tool's call that this package reads.
type hostedItem struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Status string `json:"status"`
	// of a search
	Action struct {
		Type    string   `json:"type"`
		Query   string   `json:"query"`
		Queries []string `json:"queries"`
		URL     string   `json:"url"`
		Pattern string   `json:"pattern"`
		Sources []struct {
			URL string `json:"url"`
		} `json:"sources"`
	} `json:"action"`
	// of code
	Code    string `json:"code"`
	Outputs []struct {
		Type string `json:"type"`
		Logs string `json:"logs"`
		URL  string `json:"url"`
	} `json:"outputs"`
}

// builtIn counts the uses of built-in tools in a response.
type builtIn struct {
	searches, runs int
}

// chatSources are the sources that a chat completion names.
type chatSources []backends.Event

// end returns the sources, after a call that stands for the search: a chat completion has no part
// for it.
func (s chatSources) end() []backends.Event {
	if len(s) == 0 {
		return nil
	}
	var found []string
	for _, ev := range s {
		c, _ := ev.(backends.Citation)
		found = append(found, strings.TrimSpace(c.Title+" "+c.URL))
	}
	search := backends.HostedCall{ID: "search", Name: backends.WebSearch, Result: strings.Join(found, "\n")}
	return append([]backends.Event{search}, s...)
}

// counted adds the search of a chat completion to a usage. A call that asks for a search is billed
// for one, also if its answer names no sources.
func (a *answer) counted(events []backends.Event) []backends.Event {
	var b builtIn
	if a.searches || len(a.sources) > 0 {
		b.searches = 1
	}
	return b.counted(events)
}

// nameOf returns the name of the tool that an item is a call of, "" for any other item.
func nameOf(kind string) string {
	switch kind {
	case "web_search_call":
		return backends.WebSearch
	case "code_interpreter_call":
		return backends.CodeExecution
	}
	return ""
}

// begin returns the event of a call that has begun.
func (b *builtIn) begin(index int, raw json.RawMessage) []backends.Event {
	var i hostedItem
	if json.Unmarshal(raw, &i) != nil || nameOf(i.Type) == "" {
		return nil
	}
	return []backends.Event{backends.HostedCall{ID: b.id(index, i), Name: nameOf(i.Type), Arguments: i.arguments(), Open: true}}
}

func (b *builtIn) id(index int, i hostedItem) string {
	if i.ID != "" {
		return i.ID
	}
	return fmt.Sprintf("hosted_%d", index)
}

// done returns the event of a call that has ended, with its result.
func (b *builtIn) done(index int, raw json.RawMessage) []backends.Event {
	var i hostedItem
	if json.Unmarshal(raw, &i) != nil || nameOf(i.Type) == "" {
		return nil
	}
	call := backends.HostedCall{ID: b.id(index, i), Name: nameOf(i.Type), Arguments: i.arguments(), Error: i.Status == "failed"}
	var lines []string
	switch call.Name {
	case backends.WebSearch:
		if i.Action.Type == "" || i.Action.Type == "search" { // a page that is opened is not paid for
			b.searches++
		}
		for _, s := range i.Action.Sources {
			lines = append(lines, s.URL)
		}
	case backends.CodeExecution:
		b.runs++
		for _, o := range i.Outputs {
			lines = append(lines, strings.TrimSuffix(o.Logs+o.URL, "\n"))
		}
	}
	if call.Result = strings.Join(lines, "\n"); call.Error && call.Result == "" {
		call.Result = i.Status
	}
	return []backends.Event{call}
}

// arguments are the code, or the object of a search's action.
func (i hostedItem) arguments() string {
	a := i.Action
	switch {
	case i.Code != "" || nameOf(i.Type) == backends.CodeExecution:
		return i.Code
	case len(a.Queries) > 0:
		return argumentsOf("queries", a.Queries)
	case a.Query != "":
		return argumentsOf("query", a.Query)
	case a.Pattern != "":
		return argumentsOf("pattern", a.Pattern)
	case a.URL != "":
		return argumentsOf("url", a.URL)
	}
	return ""
}

func argumentsOf(name string, value any) string {
	data, err := json.Marshal(map[string]any{name: value})
	if err != nil { // texts always encode
		return ""
	}
	return string(data)
}

// counted adds the uses of built-in tools to a usage.
func (b *builtIn) counted(events []backends.Event) []backends.Event {
	for i, ev := range events {
		if u, ok := ev.(backends.Usage); ok {
			u.WebSearches, u.CodeRuns = b.searches, b.runs
			events[i] = u
		}
	}
	return events
}
