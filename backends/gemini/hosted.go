package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// The tools that Gemini runs itself are google_search, url_context and code_execution ("Grounding
// with Google Search", "URL context", "Code execution" and "Combine built-in tools and function
// calling" in the docs of the API). Before Gemini 3 they do not go with functions.

// checkHosted returns a *backends.ParamError for a hosted tool that the model does not have.
func checkHosted(model string, h backends.HostedTools) error {
	has := []string{backends.WebSearch, backends.WebFetch, backends.CodeExecution}
	if strings.Contains(model, "gemini-1") {
		has = nil
	}
	return h.Check(model, has, "leave it out, or take a model from 2.0 on")
}

// SplitsTools reports whether a model takes the hosted tools or functions, but not both in one
// call: agents that have hosted tools have to be asked for JSON objects then.
func SplitsTools(model string, p backends.Params) bool { return p.Hosted.Any() && isOlder(model) }

// hostedTools are the fields of the tools of a request.
func hostedTools(h backends.HostedTools) (list []any) {
	if h.WebSearch {
		list = append(list, map[string]any{"googleSearch": struct{}{}})
	}
	if h.WebFetch {
		list = append(list, map[string]any{"urlContext": struct{}{}})
	}
	if h.Code() {
		list = append(list, map[string]any{"codeExecution": struct{}{}})
	}
	return list
}

// addTools adds the tools of a request to the fields of its body.
func addTools(fields map[string]any, req backends.Request, model string) error {
	list := hostedTools(req.Params.Hosted)
	if len(req.Tools) > 0 {
		if SplitsTools(model, req.Params) {
			return backends.NewParamError("tool_mode", "%s takes no tools beside those that Google runs: set tool_mode: json, or take a model from 3 on", model)
		}
		if len(list) > 0 {
			fields["toolConfig"] = map[string]any{"includeServerSideToolInvocations": true}
		}
		declared, err := encodeTools(req.Tools)
		if err != nil {
			return err
		}
		list = append(list, declared)
	}
	if len(list) > 0 {
		fields["tools"] = list
	}
	return nil
}

// hostedPart is a part of an answer that a hosted tool left there.
type hostedPart struct {
	ExecutableCode *struct {
		ID   string `json:"id"`
		Code string `json:"code"`
	} `json:"executableCode"`
	CodeExecutionResult *struct {
		ID      string        `json:"id"`
		Outcome genai.Outcome `json:"outcome"`
		Output  string        `json:"output"`
	} `json:"codeExecutionResult"`
	ToolCall *struct {
		ID       string          `json:"id"`
		ToolType genai.ToolType  `json:"toolType"`
		Args     json.RawMessage `json:"args"`
	} `json:"toolCall"`
	ToolResponse *struct {
		ID       string          `json:"id"`
		ToolType genai.ToolType  `json:"toolType"`
		Response json.RawMessage `json:"response"`
	} `json:"toolResponse"`
}

// grounding is what an answer says of its sources, whole in each candidate that has it.
type grounding struct {
	WebSearchQueries []string `json:"webSearchQueries"`
	GroundingChunks  []struct {
		Web struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
	GroundingSupports []struct {
		Chunks []int `json:"groundingChunkIndices"`
	} `json:"groundingSupports"`
}

type urlContext struct {
	URLMetadata []struct {
		RetrievedURL string                   `json:"retrievedUrl"`
		Status       genai.URLRetrievalStatus `json:"urlRetrievalStatus"`
	} `json:"urlMetadata"`
}

// builtIn keeps what an answer says of hosted tools.
type builtIn struct {
	// runs counts the pieces of code, and codeID is the id of the last.
	runs   int
	codeID string
	// searches counts the searches that stand in the answer as calls.
	searches  int
	told      map[string]bool // the names of the tools whose calls stand in the answer
	grounding grounding
	pages     urlContext
}

// addPart returns the events that describe a part to people.
func (h *builtIn) addPart(raw json.RawMessage) []backends.Event {
	var p hostedPart
	if json.Unmarshal(raw, &p) != nil {
		return nil
	}
	switch {
	case p.ExecutableCode != nil:
		h.runs++
		h.codeID = p.ExecutableCode.ID
		if h.codeID == "" {
			h.codeID = fmt.Sprintf("code_%d", h.runs)
		}
		return call(backends.HostedCall{ID: h.codeID, Name: backends.CodeExecution, Arguments: p.ExecutableCode.Code, Open: true})
	case p.CodeExecutionResult != nil:
		r := p.CodeExecutionResult
		id := r.ID
		if id == "" {
			id = h.codeID
		}
		output := strings.TrimSuffix(r.Output, "\n")
		return call(backends.HostedCall{ID: id, Name: backends.CodeExecution, Result: output, Error: r.Outcome != genai.OutcomeOK})
	case p.ToolCall != nil:
		name := toolName(p.ToolCall.ToolType)
		h.tell(name)
		if name == backends.WebSearch {
			h.searches += max(1, countQueries(p.ToolCall.Args))
		}
		return call(backends.HostedCall{ID: p.ToolCall.ID, Name: name, Arguments: string(p.ToolCall.Args), Open: true})
	case p.ToolResponse != nil:
		return call(backends.HostedCall{ID: p.ToolResponse.ID, Name: toolName(p.ToolResponse.ToolType), Result: string(p.ToolResponse.Response)})
	}
	return nil
}

func call(c backends.HostedCall) []backends.Event { return []backends.Event{c} }

func (h *builtIn) tell(name string) {
	if h.told == nil {
		h.told = map[string]bool{}
	}
	h.told[name] = true
}

func toolName(of genai.ToolType) string {
	switch of {
	case genai.ToolTypeGoogleSearchWeb, genai.ToolTypeGoogleSearchImage:
		return backends.WebSearch
	case genai.ToolTypeURLContext:
		return backends.WebFetch
	}
	return strings.ToLower(string(of))
}

// countQueries is the number of queries in the arguments of a search.
func countQueries(args json.RawMessage) int {
	var a struct {
		Queries []string `json:"queries"`
	}
	if json.Unmarshal(args, &a) != nil {
		return 0
	}
	return len(a.Queries)
}

// addMetadata keeps what a candidate says beside its content. Later words replace earlier ones.
func (h *builtIn) addMetadata(c candidate) {
	if len(c.GroundingMetadata) > 0 {
		var g grounding
		if json.Unmarshal(c.GroundingMetadata, &g) == nil && (len(g.WebSearchQueries) > 0 || len(g.GroundingChunks) > 0) {
			h.grounding = g
		}
	}
	if len(c.URLContextMetadata) > 0 {
		var pages urlContext
		if json.Unmarshal(c.URLContextMetadata, &pages) == nil && len(pages.URLMetadata) > 0 {
			h.pages = pages
		}
	}
}

// end returns the calls that no part described, and the sources.
func (h *builtIn) end() (events []backends.Event) {
	g := h.grounding
	if len(g.WebSearchQueries) > 0 && !h.told[backends.WebSearch] {
		arguments, err := plain.JSON(map[string]any{"queries": g.WebSearchQueries})
		if err != nil { // a list of texts always encodes
			arguments = nil
		}
		var found []string
		for _, c := range g.GroundingChunks {
			found = append(found, strings.TrimSpace(c.Web.Title+" "+c.Web.URI))
		}
		events = append(events, backends.HostedCall{
			ID: "search", Name: backends.WebSearch, Arguments: string(arguments), Result: strings.Join(found, "\n"),
		})
	}
	if !h.told[backends.WebFetch] {
		for i, p := range h.pages.URLMetadata {
			arguments, err := plain.JSON(map[string]string{"url": p.RetrievedURL})
			if err != nil { // a text always encodes
				arguments = nil
			}
			events = append(events, backends.HostedCall{
				ID: fmt.Sprintf("fetch_%d", i+1), Name: backends.WebFetch, Arguments: string(arguments),
				Result: strings.ToLower(strings.TrimPrefix(string(p.Status), "URL_RETRIEVAL_STATUS_")), Error: p.Status != genai.URLRetrievalStatusSuccess,
			})
		}
	}
	for _, i := range h.cited() {
		web := g.GroundingChunks[i].Web
		events = append(events, backends.Citation{URL: web.URI, Title: web.Title})
	}
	return events
}

// cited are the places of the sources that support a part of the answer, or of all sources if the
// service does not say what they support, or names only sources that are not there.
func (h *builtIn) cited() (places []int) {
	count := len(h.grounding.GroundingChunks)
	for _, s := range h.grounding.GroundingSupports {
		for _, i := range s.Chunks {
			if i >= 0 && i < count && !slices.Contains(places, i) {
				places = append(places, i)
			}
		}
	}
	if len(places) == 0 {
		for i := range count {
			places = append(places, i)
		}
	}
	return places
}

// searched counts the searches: those that stand in the answer as calls, or else the queries that
// stand beside it.
func (h *builtIn) searched() int {
	if h.told[backends.WebSearch] {
		return h.searches
	}
	return len(h.grounding.WebSearchQueries)
}

// counted adds the uses of hosted tools to a usage.
func (h *builtIn) counted(events []backends.Event) []backends.Event {
	for i, ev := range events {
		if u, ok := ev.(backends.Usage); ok {
			u.WebSearches, u.CodeRuns = h.searched(), h.runs
			events[i] = u
		}
	}
	return events
}
