package gemini

import (
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/massgen/massgen/backends"
)

const (
	maxTemperature   = 2
	maxStopSequences = 5
)

// CheckParams returns a *backends.ParamError for the first parameter that a model
// cannot take.
func CheckParams(model string, p backends.Params) error {
	_, err := encodeParams(p, model)
	return err
}

// encodeParams makes the generationConfig. What the service is known to refuse is
// an error that names the parameter.
func encodeParams(p backends.Params, model string) (map[string]any, error) {
	if err := checkHosted(model, p.Hosted); err != nil {
		return nil, err
	}
	config := map[string]any{}
	if p.Temperature != nil {
		if !(*p.Temperature >= 0 && *p.Temperature <= maxTemperature) {
			return nil, backends.NewParamError("temperature", "Gemini takes 0 to %d, not %v", maxTemperature, *p.Temperature)
		}
		config["temperature"] = *p.Temperature
	}
	if p.Verbosity != "" {
		return nil, backends.NewParamError("verbosity", "Gemini takes none: leave it out")
	}
	if p.TopP != nil {
		if !(*p.TopP >= 0 && *p.TopP <= 1) {
			return nil, backends.NewParamError("top_p", "Gemini takes 0 to 1, not %v", *p.TopP)
		}
		config["topP"] = *p.TopP
	}
	if p.MaxTokens != nil {
		config["maxOutputTokens"] = *p.MaxTokens
	}
	if len(p.Stop) > maxStopSequences {
		return nil, backends.NewParamError("stop", "Gemini takes at most %d sequences, not %d", maxStopSequences, len(p.Stop))
	}
	if len(p.Stop) > 0 {
		config["stopSequences"] = p.Stop
	}
	if p.Seed != nil {
		if *p.Seed < math.MinInt32 || *p.Seed > math.MaxInt32 {
			return nil, backends.NewParamError("seed", "Gemini takes 32 bits, %d has more", *p.Seed)
		}
		config["seed"] = *p.Seed
	}
	thinking, err := encodeThinking(p, model)
	if err != nil {
		return nil, err
	}
	if len(thinking) > 0 {
		config["thinkingConfig"] = thinking
	}
	return config, nil
}

// encodeThinking says how much the model thinks, and whether its thoughts come with the
// answer. Gemini 3 takes a level and no tokens beside it.
func encodeThinking(p backends.Params, model string) (thinking map[string]any, err error) {
	thinking = map[string]any{}
	switch {
	case p.ReasoningTokens != nil && !isOlder(model):
		return nil, backends.NewParamError("budget_tokens", "%s takes a level: set effort in its place", model)
	case p.ReasoningTokens != nil:
		thinking = map[string]any{"thinkingBudget": *p.ReasoningTokens, "includeThoughts": true}
	case p.ReasoningEffort != "":
		if thinking, err = encodeEffort(p.ReasoningEffort, model); err != nil {
			return nil, err
		}
	}
	if p.ReasoningSummary != "" && p.ReasoningEffort != "none" {
		thinking["includeThoughts"] = p.ReasoningSummary != "none"
	}
	return thinking, nil
}

// encodeEffort turns a reasoning effort into the level that Gemini 3 takes, or
// the budget that Gemini 2.5 takes in its place, with the numbers of Google's own
// OpenAI-compatible service (https://ai.google.dev/gemini-api/docs/openai).
func encodeEffort(effort, model string) (map[string]any, error) {
	if isOlder(model) {
		budget, ok := thinkingBudgets()[effort]
		if !ok || effort == "none" && strings.Contains(model, "-pro") {
			return nil, backends.NewParamError("reasoning_effort", "%s does not take %q", model, effort)
		}
		return map[string]any{"thinkingBudget": budget, "includeThoughts": budget > 0}, nil
	}
	level, ok := thinkingLevels()[effort]
	if !ok {
		return nil, backends.NewParamError("reasoning_effort", "Gemini takes minimal, low, medium or high, not %q", effort)
	}
	return map[string]any{"thinkingLevel": level, "includeThoughts": true}, nil
}

func thinkingBudgets() map[string]int {
	return map[string]int{"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
}

func thinkingLevels() map[string]genai.ThinkingLevel {
	return map[string]genai.ThinkingLevel{
		"minimal": genai.ThinkingLevelMinimal, "low": genai.ThinkingLevelLow,
		"medium": genai.ThinkingLevelMedium, "high": genai.ThinkingLevelHigh,
	}
}
