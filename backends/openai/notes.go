package openai

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Notes tells people, in a sentence each, what is odd about the service.
func (d Dialect) Notes() []string {
	notes := d.All.notes("")
	add := func(odd bool, format string, args ...any) {
		if odd {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	add(d.OwnResponses, "the Responses API takes neither stop nor seed; summaries of the reasoning come over it alone")
	add(d.SeedField != "", "seed is sent as %s", d.SeedField)
	add(d.NoThinking != nil, "reasoning_effort: none is sent as %s", asJSON(d.NoThinking))
	add(d.BudgetField != "", "reasoning_effort is sent as %s and a %s, which budget_tokens states", asJSON(d.Thinking), d.BudgetField)
	add(d.NoStreamUsage, "is not asked for its usage in streams")
	add(d.JSONObject, "tool_mode: json asks for any JSON object; no schema is sent")
	add(d.WholeJSON, "tool_mode: json is not streamed")
	add(d.Hosted != "", "searches the web and runs code over its Responses API, where calls with these tools go")
	add(d.WebPlugin, "searches the web for any model")
	add(d.ThinkTags, "reasoning between <think> and </think> is told apart from the text")
	add(d.Reasoning != "", "reasoning goes back with its message, as %s", d.Reasoning)
	add(d.ShortIDs, "ids of tool calls from elsewhere are replaced if they have more than 40 characters, over the Responses API more than 64")
	add(d.NineLetterIDs, "ids of tool calls from elsewhere are replaced by nine letters and digits")
	for _, m := range d.Models {
		m.Responses = m.Responses && d.API == ""
		notes = append(notes, m.notes(strings.Join(strings.Fields(m.Names), "…, ")+"…: ")...)
	}
	return notes
}

// notes begin with whom they are about.
func (l Limits) notes(about string) []string {
	var parts []string
	add := func(odd bool, format string, args ...any) {
		if odd {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(l.MaxCompletionTokens, "max_tokens is sent as max_completion_tokens")
	add(l.MaxTemperature > 0, "temperature is 0 to %v", l.MaxTemperature)
	add(l.FixedSampling && l.Reasons, "reasons by default; temperature and top_p are 1 then")
	add(l.FixedSampling && !l.Reasons, "temperature and top_p are 1 when it reasons")
	add(l.NoEfforts, "no reasoning_effort")
	add(len(l.efforts()) > 0, "reasoning_effort is %s", alternatives(l.efforts()))
	add(l.NoStop, "no stop")
	add(l.MaxStop > 0, "stop has %d at most", l.MaxStop)
	add(l.NoSeed, "no seed")
	add(l.NoVerbosity, "no verbosity")
	add(l.NoImages, "no images")
	add(l.NoPDF, "no PDF")
	add(l.MaxImage > 0, "images are made smaller than %d bytes", l.MaxImage)
	add(l.Responses, "called over the Responses API")
	add(l.NoToolsInReasoning, "over chat completions no tools when it reasons: acts by JSON (tool_mode)")
	if len(parts) == 0 {
		return nil
	}
	return []string{about + strings.Join(parts, "; ")}
}

func asJSON(fields map[string]any) string {
	data, err := json.Marshal(fields)
	if err != nil {
		return fmt.Sprint(fields)
	}
	return string(data)
}
