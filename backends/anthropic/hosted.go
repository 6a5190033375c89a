package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/massgen/massgen/backends"
)

// Claude calls the tools that it runs itself server tools ("Web search tool", "Web fetch tool" and
// "Code execution tool" in the docs of the API). Each call is a block server_tool_use, followed by
// a block with its result. Both are kept as opaque parts, since the service wants them back.

// checkHosted returns a *backends.ParamError for a hosted tool that the model does not have.
func checkHosted(model string, own version, h backends.HostedTools) error {
	has := []string{backends.WebSearch, backends.WebFetch, backends.CodeExecution}
	if own.before(version35) {
		has = nil
	}
	return h.Check(model, has, "leave it out, or take a model from 3.5 on")
}

// encodeHosted returns the hosted tools. They precede the other tools, since the last tool has the
// cache mark.
func encodeHosted(h backends.HostedTools) (tools []sdk.ToolUnionParam) {
	most := sdk.Int(int64(h.Uses()))
	if h.WebSearch {
		tools = append(tools, sdk.ToolUnionParam{OfWebSearchTool20250305: &sdk.WebSearchTool20250305Param{MaxUses: most}})
	}
	if h.WebFetch {
		tools = append(tools, sdk.ToolUnionParam{OfWebFetchTool20250910: &sdk.WebFetchTool20250910Param{
			MaxUses: most, Citations: sdk.CitationsConfigParam{Enabled: sdk.Bool(true)},
		}})
	}
	if h.Code() {
		tools = append(tools, sdk.ToolUnionParam{OfCodeExecutionTool20250825: &sdk.CodeExecutionTool20250825Param{}})
	}
	return tools
}

// hostedName returns the name of the hosted tool that a block's name means. Code runs under three names.
func hostedName(name string) string {
	if strings.Contains(name, backends.CodeExecution) {
		return backends.CodeExecution
	}
	return name
}

const (
	hostedUse    = "server_tool_use"
	hostedResult = "_tool_result"
)

// hostedCall describes a block of a hosted tool for people; ok is false for any other block.
func (b *block) hostedCall() (call backends.HostedCall, ok bool) {
	switch kind := b.start.Type; {
	case kind == hostedUse:
		return backends.HostedCall{ID: b.start.ID, Name: hostedName(b.start.Name), Arguments: b.arguments(), Open: true}, true
	case strings.HasSuffix(kind, hostedResult):
		call = backends.HostedCall{ID: b.start.ToolUseID, Name: hostedName(strings.TrimSuffix(kind, hostedResult))}
		call.Result, call.Error = hostedText([]byte(b.start.JSON.Content.Raw()))
		return call, true
	}
	return call, false
}

// hostedContent is what counts of the content of a result, of each kind its own.
type hostedContent struct {
	ErrorCode string `json:"error_code"`
	URL       string `json:"url"`
	Title     string `json:"title"`
	PageAge   string `json:"page_age"`
	// of code
	Stdout     *string `json:"stdout"`
	Stderr     string  `json:"stderr"`
	ReturnCode int     `json:"return_code"`
	// of a page: a document with a source; of a file: its text
	Content json.RawMessage `json:"content"`
}

// hostedText returns a result for people.
func hostedText(content []byte) (text string, isError bool) {
	var found []hostedContent
	if json.Unmarshal(content, &found) == nil {
		lines := make([]string, len(found))
		for i, f := range found {
			lines[i] = strings.TrimSpace(f.Title + " " + f.URL)
			if f.PageAge != "" {
				lines[i] += " (" + f.PageAge + ")"
			}
		}
		return strings.Join(lines, "\n"), false
	}
	var c hostedContent
	switch err := json.Unmarshal(content, &c); {
	case err != nil:
		return string(content), false
	case c.ErrorCode != "":
		return c.ErrorCode, true
	case c.Stdout != nil:
		text = strings.TrimSuffix(*c.Stdout, "\n")
		if c.Stderr != "" {
			text = strings.TrimPrefix(text+"\n"+c.Stderr, "\n")
		}
		if c.ReturnCode != 0 {
			text = strings.TrimPrefix(fmt.Sprintf("%s\nexit status %d", text, c.ReturnCode), "\n")
		}
		return text, c.ReturnCode != 0
	}
	return strings.TrimSpace(c.URL + "\n" + pageText(c.Content)), false
}

// pageText is the title and the text of a page that was fetched, or the text of a file.
func pageText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var page struct {
		Title  string `json:"title"`
		Source struct {
			Type string `json:"type"`
			Data string `json:"data"`
		} `json:"source"`
	}
	if json.Unmarshal(content, &page) != nil {
		return ""
	}
	if page.Source.Type != "text" { // a PDF
		page.Source.Data = ""
	}
	return strings.TrimSpace(page.Title + "\n" + page.Source.Data)
}

// noteHosted notes of a call what the rest of the answer refers to.
func (a *answer) noteHosted(call backends.HostedCall, b *block) {
	switch call.Name {
	case backends.CodeExecution:
		a.usage.codeRuns = 1
	case backends.WebFetch:
		a.pages.note([]byte(b.start.JSON.Content.Raw()))
	}
}

// pages are the addresses of pages that Claude fetched, by their titles: a citation of a page names
// its title alone.
type pages map[string]string

// note adds the page that the content of a result has.
func (p pages) note(content []byte) {
	var page struct {
		URL     string `json:"url"`
		Content struct {
			Title string `json:"title"`
		} `json:"content"`
	}
	if json.Unmarshal(content, &page) == nil && page.URL != "" {
		p[page.Content.Title] = page.URL
	}
}

// fetchedBefore returns the pages that the messages of a request have. An answer may cite these,
// also the answer that goes on after a pause.
func fetchedBefore(req backends.Request, provider string) pages {
	before := pages{}
	if !req.Params.Hosted.WebFetch {
		return before
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			part, ok := p.(backends.Opaque)
			if !ok || part.Provider != provider || part.Model != req.Model {
				continue
			}
			var result struct {
				Type    string          `json:"type"`
				Content json.RawMessage `json:"content"`
			}
			if json.Unmarshal(part.Data, &result) == nil && result.Type == backends.WebFetch+hostedResult {
				before.note(result.Content)
			}
		}
	}
	return before
}

// citation returns the source of a piece of text, or nothing for one without an address.
func (a *answer) citation(c sdk.CitationsDeltaCitationUnion) []backends.Event {
	source := backends.Citation{URL: c.URL, Title: c.Title, Text: c.CitedText}
	if source.URL == "" { // a page that was fetched is cited as a document
		source.URL, source.Title = a.pages[c.DocumentTitle], c.DocumentTitle
	}
	if source.URL == "" {
		return nil
	}
	return []backends.Event{source}
}

// containerPart is the type of an opaque part that no service sends: it names the container in
// which a paused answer has code run, so that the answer goes on there.
const containerPart = "massgen_container"

type container struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// noteContainer notes the container that a message or its end names.
func (a *answer) noteContainer(raw string) {
	var c container
	if json.Unmarshal([]byte(raw), &c) == nil && c.ID != "" {
		a.container = c.ID
	}
}

// containerOf returns the container that a part names, or ok false.
func containerOf(p backends.Opaque) (id string, ok bool) {
	var c container
	err := json.Unmarshal(p.Data, &c)
	return c.ID, err == nil && c.Type == containerPart
}

// withoutOpenCalls leaves out the calls of hosted tools that have no result, as in an answer that
// was cut. The service refuses these.
func withoutOpenCalls(parts []backends.Part) []backends.Part {
	var uses, results []string
	head := func(p backends.Part) (h struct{ Type, ID, ToolUseID string }) {
		opaque, ok := p.(backends.Opaque)
		var fields struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			ToolUseID string `json:"tool_use_id"`
		}
		if ok && json.Unmarshal(opaque.Data, &fields) == nil {
			h.Type, h.ID, h.ToolUseID = fields.Type, fields.ID, fields.ToolUseID
		}
		return h
	}
	for _, p := range parts {
		switch h := head(p); {
		case h.Type == hostedUse:
			uses = append(uses, h.ID)
		case h.ToolUseID != "":
			results = append(results, h.ToolUseID)
		}
	}
	if len(uses) == 0 {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p backends.Part) bool {
		h := head(p)
		return h.Type == hostedUse && !slices.Contains(results, h.ID)
	})
}
