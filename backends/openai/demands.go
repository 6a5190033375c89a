package openai

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"

	"github.com/massgen/massgen/backends"
)

// demands are the demands on the requests to a model, beside the protocol's, that a service's refusals have shown.
type demands struct {
	// usedTools is set where a request whose messages call tools must define tools, even if it offers none.
	// noChoice is set where tool_choice cannot be none.
	usedTools, noChoice bool
	// signatures is set where every call needs the signature of a thought, even a call of another model.
	signatures bool
}

// The refusals of Bedrock ("The toolConfig field must be defined when using toolUse and toolResult content
// blocks."), Anthropic ("Requests which include `tool_use` or `tool_result` blocks must define tools"), LiteLLM
// ("Bedrock doesn't support tool calling without `tools=` param specified", "Anthropic expects the `tools=`
// param to be passed in"), and of proxies that pass them on; and of Google ("Function call is missing a
// thought_signature in functionCall parts").
var (
	wantsTools     = regexp.MustCompile("(?i)tool_?config\\W.*must be (defined|specified|provided|set)|must (define|provide|include|specify) (the )?[`'\"]?tools\\b|[`'\"]tools=?[`'\"] (param|field|parameter|array|list)\\b")
	refusesChoice  = regexp.MustCompile(`(?i)tool_?choice`)
	wantsSignature = regexp.MustCompile(`(?i)(missing|without|requires?) (a |an |the )?\W?thought_?\s?signature`)
)

// after returns the demands that the refusal of a request shows. They are the same if err is another error.
func (d demands) after(err error, req *backends.Request) demands {
	var e *backends.Error
	if !errors.As(err, &e) || e.Status < http.StatusBadRequest {
		return d
	}
	lacksTools := len(req.Tools) == 0 && len(calledTools(req.Messages)) > 0
	switch {
	case lacksTools && !d.usedTools && wantsTools.MatchString(e.Message):
		d.usedTools = true
	case lacksTools && d.usedTools && !d.noChoice && refusesChoice.MatchString(e.Message):
		d.noChoice = true
	case wantsSignature.MatchString(e.Message):
		d.signatures = true
	}
	return d
}

// fit returns the request with the definitions that the service wants. They name the tools that the messages
// call, and no tool may be called again.
func (d demands) fit(req *backends.Request) *backends.Request {
	if !d.usedTools || len(req.Tools) > 0 {
		return req
	}
	fitted := *req
	if fitted.Tools = calledTools(req.Messages); len(fitted.Tools) == 0 {
		return req
	}
	fitted.Params.ExtraBody = map[string]any{}
	maps.Copy(fitted.Params.ExtraBody, req.Params.ExtraBody)
	fitted.Params.ExtraBody["tool_choice"] = "none"
	if d.noChoice {
		fitted.Params.ExtraBody["tool_choice"] = nil
	}
	return &fitted
}

// calledTools returns a definition of each tool that the messages call, with nothing but its name.
func calledTools(messages []backends.Message) []backends.Tool {
	var out []backends.Tool
	seen := map[string]bool{}
	for _, m := range backends.Repair(messages) {
		for _, c := range m.ToolCalls() {
			if c.Name != "" && !seen[c.Name] {
				seen[c.Name] = true
				out = append(out, backends.Tool{Name: c.Name, Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
			}
		}
	}
	return out
}

// demandsOf returns the known demands on the requests to a model.
func (b *Backend) demandsOf(model string) demands {
	known, _ := b.demands.Load(model)
	d, _ := known.(demands)
	return d
}
