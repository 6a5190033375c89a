package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/tools/schema"
)

// actionSchema returns the JSON Schema of the one object by which a model without tools acts:
// {"action": {"name", …}} with the arguments of new_answer or vote beside the name. Only the
// acts that are offered now fit it, so that a service that enforces the schema while the model
// writes cannot yield an impossible vote. The choice stands inside an object, since OpenAI's
// strict mode requires that. If bounded is true, the reason of a vote has a limit, which only
// some services accept.
func (s *shared) actionSchema(offer kernel.Offer, bounded bool, answers *schema.Schema) json.RawMessage {
	var forms []string
	if offer.MayAnswer {
		content := `{"type":"string"}`
		if answers != nil {
			content = answers.Nested()
		}
		forms = append(forms, `{"type":"object","properties":{"name":{"type":"string","enum":["new_answer"]},`+
			`"content":`+content+`},"required":["name","content"],"additionalProperties":false}`)
	}
	if len(offer.MayVote) > 0 {
		names := make([]string, len(offer.MayVote))
		for i, agent := range offer.MayVote {
			names[i] = `"` + s.anonymous(agent) + `"`
		}
		reason := `{"type":"string"}`
		if bounded {
			reason = fmt.Sprintf(`{"type":"string","maxLength":%d}`, boundedReason)
		}
		forms = append(forms, `{"type":"object","properties":{"name":{"type":"string","enum":["vote"]},`+
			`"agent_id":{"type":"string","enum":[`+strings.Join(names, ",")+`]},"reason":`+reason+s.othersSchema(strings.Trim(strings.Join(names, ","), `"`))+`},`+
			`"required":["name","agent_id","reason"],"additionalProperties":false}`)
	}
	action := forms[0]
	if len(forms) > 1 {
		action = `{"anyOf":[` + strings.Join(forms, ",") + `]}`
	}
	if !offer.MayAnswer {
		answers = nil // nobody refers to its definitions
	}
	return answers.Within(json.RawMessage(`{"type":"object","properties":{"action":` + action +
		`},"required":["action"],"additionalProperties":false}`))
}

// Without a limit, a small model may fill its whole context with one reply in JSON mode.
// boundedReason counts the characters of a vote's reason; a grammar of llama.cpp takes 2,000 at
// most. The other limit counts the tokens of a reply with its thoughts. Only turns from before every call
// to a local model had a limit of its own need it, to be rebuilt.
const (
	boundedReason = 400
	boundedReply  = 4096
)

// bounded returns the parameters of a call, with an output limit if they lack one. A model
// with reasoning needs more, by an unknown amount.
func bounded(p backends.Params) backends.Params {
	if p.MaxTokens == nil && !p.Reasons() {
		p.MaxTokens = new(boundedReply)
	}
	return p
}

// actInText returns the act that a model in JSON mode wrote, as the tool call that it stands
// for, and nothing for any other text. A service that cannot enforce the schema may put the object
// into a fence or prose. Names of fields must match exactly, as in a tool call.
func actInText(text string) []backends.ToolCall {
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start {
		return nil
	}
	object, problem := decodeArguments(text[start : end+1])
	if problem != "" {
		return nil
	}
	act := string(object["action"])
	fields, problem := decodeArguments(act)
	name, _ := fields.text("name", &problem)
	if problem != "" || name != effect.NewAnswer && name != effect.Vote {
		return nil
	}
	return []backends.ToolCall{{Name: name, Arguments: act}}
}

// isPlaceholder reports whether a text is only the dots in the forms of contextbuild.JSONMode:
// small models repeat the form, with more signs around the dots.
func isPlaceholder(text string) bool {
	hasDots := strings.Contains(text, "...") || strings.Contains(text, "…")
	return hasDots && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}
