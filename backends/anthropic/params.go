package anthropic

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/massgen/massgen/backends"
)

// version is that of a Claude model, as 406 for 4.6, or 0 for a model whose name
// does not tell: one of another maker, or behind an alias.
type version int

const (
	version35 version = 305
	version37 version = 307
	version4  version = 400
	version41 version = 401
	version45 version = 405
	version46 version = 406
	version47 version = 407
)

// versionOf reads the names of all times: claude-3-5-haiku-latest,
// claude-opus-4-20250514, claude-sonnet-4-5-20250929, claude-opus-5, and those of
// other clouds, as anthropic.claude-opus-4-6-v1 or claude-opus-4.6. Mythos Preview
// has no number and behaves as 4.7.
func versionOf(model string) version {
	if strings.Contains(model, "claude-mythos-preview") {
		return version47
	}
	found := regexp.MustCompile(`claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`).FindStringSubmatch(model)
	if found == nil {
		return 0
	}
	return 100*number(found[1]) + number(found[2])
}

// number reads a part of a version, 0 if it is missing.
func number(digits string) version {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return version(n)
}

// before reports whether the model is known to be older than v.
func (own version) before(v version) bool { return own != 0 && own < v }

// defaultMaxTokens is the room for an answer when the request sets no limit.
const (
	defaultMaxTokens    = 8192
	oldDefaultMaxTokens = 4096
)

// minThinking is the smallest budget that the service takes.
const minThinking = 1024

// thinkingTokens is what an effort may take of max_tokens: the budget where a model
// has one, and the room that is left for it where the model decides.
func thinkingTokens(effort string) int64 {
	return map[string]int64{"low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}[effort]
}

// CheckParams returns a *backends.ParamError for the first parameter that a model
// cannot take.
func CheckParams(model string, p backends.Params) error {
	return encodeParams(&sdk.MessageNewParams{Model: model}, p)
}

// CheckSchema returns a *backends.ParamError if a model takes no schema for its
// reply, and so no JSON mode.
func CheckSchema(model string) error {
	if versionOf(model).before(version45) {
		return backends.NewParamError("tool_mode", "%s takes no schema for its reply: use native or auto, or a model from 4.5 on", model)
	}
	return nil
}

func encodeParams(out *sdk.MessageNewParams, p backends.Params) error {
	own := versionOf(out.Model)
	if p.Seed != nil {
		return backends.NewParamError("seed", "the Messages API takes none: leave it out")
	}
	if p.Verbosity != "" {
		return backends.NewParamError("verbosity", "the Messages API takes none: leave it out")
	}
	if err := checkSampling(out.Model, own, p); err != nil {
		return err
	}
	if err := checkHosted(out.Model, own, p.Hosted); err != nil {
		return err
	}
	if p.Temperature != nil {
		out.Temperature = sdk.Float(*p.Temperature)
	}
	if p.TopP != nil {
		out.TopP = sdk.Float(*p.TopP)
	}
	out.MaxTokens = defaultMaxTokens + thinkingTokens(p.ReasoningEffort)
	if p.ReasoningTokens != nil {
		out.MaxTokens = defaultMaxTokens + int64(*p.ReasoningTokens)
	}
	if own.before(version35) {
		out.MaxTokens = oldDefaultMaxTokens
	}
	if p.MaxTokens != nil {
		out.MaxTokens = int64(*p.MaxTokens)
	}
	return encodeThinking(out, own, p)
}

// checkSampling refuses what the service refuses: from 4.7 on it takes only the
// defaults, from 4.1 on only one of temperature and top_p, and before 4.7 a model that
// thinks takes a temperature of 1 and a top_p of 0.95 to 1.
func checkSampling(model string, own version, p backends.Params) error {
	fixed := own >= version47
	thinks := p.Reasons()
	switch {
	case own == 0:
		return nil
	case p.Temperature != nil && *p.Temperature != 1 && fixed:
		return backends.NewParamError("temperature", "%s takes none: leave it out", model)
	case p.TopP != nil && *p.TopP != 1 && fixed:
		return backends.NewParamError("top_p", "%s takes none: leave it out", model)
	case p.Temperature != nil && *p.Temperature > maxTemperature:
		return backends.NewParamError("temperature", "%s takes 0 to %d, not %v", model, maxTemperature, *p.Temperature)
	case p.Temperature != nil && p.TopP != nil && own >= version41:
		return backends.NewParamError("top_p", "%s takes no temperature beside it: leave one of them out", model)
	case p.Temperature != nil && *p.Temperature != 1 && thinks:
		return backends.NewParamError("temperature", "%s takes only 1 when it reasons: leave it out, or reasoning_effort", model)
	case p.TopP != nil && *p.TopP < minTopP && thinks:
		return backends.NewParamError("top_p", "%s takes at least %v when it reasons", model, minTopP)
	}
	return nil
}

// maxTemperature is the highest, of all models.
const maxTemperature = 1

// minTopP is the smallest top_p of a model that reasons.
const minTopP = 0.95

// encodeThinking asks for reasoning, with or without its summary.
func encodeThinking(out *sdk.MessageNewParams, own version, p backends.Params) error {
	var err error
	if p.ReasoningTokens == nil {
		err = encodeEffort(out, own, p.ReasoningEffort)
	} else {
		err = encodeTokens(out, own, *p.ReasoningTokens)
	}
	if p.ReasoningSummary == "none" {
		switch t := out.Thinking; {
		case t.OfAdaptive != nil:
			t.OfAdaptive.Display = sdk.ThinkingConfigAdaptiveDisplayOmitted
		case t.OfEnabled != nil:
			t.OfEnabled.Display = sdk.ThinkingConfigEnabledDisplayOmitted
		}
	}
	return err
}

// encodeTokens asks for a budget of tokens, which models from 4.7 on refuse.
func encodeTokens(out *sdk.MessageNewParams, own version, tokens int) error {
	switch {
	case own.before(version37):
		return backends.NewParamError("budget_tokens", "%s does not reason: leave it out", out.Model)
	case own >= version47:
		return backends.NewParamError("budget_tokens", "%s decides itself how much it thinks: set effort in its place", out.Model)
	case tokens < minThinking:
		return backends.NewParamError("budget_tokens", "%s takes at least %d, not %d", out.Model, minThinking, tokens)
	}
	return encodeBudget(out, int64(tokens))
}

// encodeEffort asks for the effort as the model understands it ("Thinking" and
// "Effort" in the docs of the API): from 4.6 on by name, and the model decides how
// much it thinks; before that as a budget of tokens, which models of other makers
// know too. "none" turns thinking off.
func encodeEffort(out *sdk.MessageNewParams, own version, effort string) error {
	switch {
	case effort == "":
		return nil
	case own.before(version37):
		return backends.NewParamError("reasoning_effort", "%s does not reason: leave it out", out.Model)
	case effort == "none":
		disabled := sdk.NewThinkingConfigDisabledParam()
		out.Thinking.OfDisabled = &disabled
		return nil
	}
	efforts := effortsOf(own)
	if !slices.Contains(efforts, effort) {
		return backends.NewParamError("reasoning_effort", "%s knows no %q, only none, %s", out.Model, effort, strings.Join(efforts, ", "))
	}
	if own >= version46 {
		// Without this, newer models show nothing of their thinking.
		out.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		out.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
		return nil
	}
	return encodeBudget(out, thinkingTokens(effort))
}

// effortsOf lists what the docs of the API have for a version (November 2026).
func effortsOf(own version) []string {
	efforts := []string{"low", "medium", "high"}
	if own >= version47 {
		efforts = append(efforts, "xhigh")
	}
	if own >= version46 {
		efforts = append(efforts, "max")
	}
	return efforts
}

// encodeBudget gives a budget of tokens, but leaves half of max_tokens to the
// answer where that is less than an answer has by default. A tool loop that began
// without thinking gets no budget: the service refuses to begin thinking between a call
// and its result.
func encodeBudget(out *sdk.MessageNewParams, tokens int64) error {
	budget := min(tokens, out.MaxTokens-min(defaultMaxTokens, out.MaxTokens/2))
	if budget < minThinking {
		return backends.NewParamError("max_tokens", "%d leaves no room for reasoning, which takes at least %d beside as many for the answer",
			out.MaxTokens, minThinking)
	}
	if !inLoopWithoutThinking(out.Messages) {
		out.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
	}
	return nil
}

// inLoopWithoutThinking reports whether the conversation ends in tool results, and the
// first assistant message of that loop has no thinking blocks, as after a change of
// the model.
func inLoopWithoutThinking(messages []sdk.MessageParam) bool {
	first := len(messages)
	for first >= 2 && messages[first-1].Content[0].OfToolResult != nil {
		first -= 2
	}
	return first < len(messages) && !slices.ContainsFunc(messages[first].Content, isOpaque)
}

func isOpaque(b sdk.ContentBlockParamUnion) bool { return b.GetType() == nil }
