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
	config := map[string]any{}
	if p.Temperature != nil {
		if !(*p.Temperature >= 0 && *p.Temperature <= maxTemperature) {
			return nil, backends.NewParamError("temperature", "Gemini takes 0 to %d, not %v", maxTemperature, *p.Temperature)
		}
		config["temperature"] = *p.Temperature
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
	if p.ReasoningEffort != "" {
		thinking, err := encodeThinking(p.ReasoningEffort, model)
		if err != nil {
			return nil, err
		}
		config["thinkingConfig"] = thinking
	}
	return config, nil
}

// encodeThinking turns a reasoning effort into the level that Gemini 3 takes, or
// the budget that Gemini 2.5 takes in its place, with the numbers of Google's own
// OpenAI-compatible service (https://ai.google.dev/gemini-api/docs/openai).
func encodeThinking(effort, model string) (map[string]any, error) {
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
