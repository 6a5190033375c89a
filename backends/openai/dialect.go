package openai

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/toolfit"
)

// Dialect describes how a service differs from OpenAI's reference. It is plain data: do not change one that is
// in use.
type Dialect struct {
	// All are the limits of every model, Models the limits of some: the first entry that
	// fits a model counts, and All fills in what it leaves open.
	All    Limits
	Models []ModelLimits

	// API is over which API all models are called, "chat" or "responses". Where it is
	// empty, Limits.Responses says it for each.
	API string
	// OwnResponses reports whether the Responses API is OpenAI's own. It takes neither stop nor seed,
	// and no other API has summaries of the reasoning.
	OwnResponses bool
	// Hosted are the names of the hosted tools that the service has over the Responses API, parted
	// by spaces. HostedGoThere reports whether calls with such tools go there where no API is chosen,
	// and LimitsHosted whether the service takes a limit of their uses.
	Hosted                      string
	HostedGoThere, LimitsHosted bool
	// WebPlugin reports whether the service searches the web for any model in chat completions.
	WebPlugin bool
	// Schemas says which schemas of tools the service takes. The zero Schemas are those of most
	// services that speak as OpenAI does: see Rules.
	Schemas toolfit.Rules
	// SeedField is the field of the body for the seed; empty means "seed".
	SeedField string
	// NoStreamUsage reports whether the service refuses stream_options. Some tell their
	// usage all the same.
	NoStreamUsage bool
	// JSONObject reports whether the service knows no response_format but json_object.
	JSONObject bool
	// WholeJSON reports whether a reply that has to fit a schema is not streamed.
	WholeJSON bool
	// ThinkTags reports whether reasoning may stand in the text, between <think> and
	// </think> at its beginning, or in the channels of gpt-oss.
	ThinkTags bool
	// Reasoning is the field of a message that takes back the reasoning which came with it; empty
	// where no reasoning is sent back. NeedsReasoning is set where the service refuses a message with
	// tool calls that lacks it.
	Reasoning      string
	NeedsReasoning bool
	// NineLetterIDs reports whether the ids of tool calls have to be nine letters or digits.
	NineLetterIDs bool
	// ShortIDs reports whether the ids of tool calls have 40 characters at most in chat completions, and
	// 64 over the Responses API, as OpenAI's own.
	ShortIDs bool
	// EndsLoops reports whether an answer is ended that only repeats itself, as small models do until
	// their context is full.
	EndsLoops bool
	// NoThinking are the fields that replace a reasoning_effort of "none".
	NoThinking map[string]any
	// BudgetField is a field that replaces reasoning_effort: it takes the most tokens of reasoning.
	// Thinking are the fields that go with it.
	Thinking    map[string]any
	BudgetField string
}

// responsesAPI is the API of a Dialect that is not chat completions.
const responsesAPI = "responses"

// The values of Dialect.Reasoning.
const (
	// ReasoningContent sends the reasoning back as a text.
	ReasoningContent = "reasoning_content"
	// ReasoningDetails sends it back as the list of objects in which it came.
	ReasoningDetails = "reasoning_details"
)

// ModelLimits are the limits of the models whose names begin with one of Names,
// which are parted by spaces. The part of a model's name before its last slash does
// not count, nor does case.
type ModelLimits struct {
	Names string
	Limits
}

// Limits are what a model takes of the parameters. The zero Limits take all.
type Limits struct {
	// MaxCompletionTokens reports whether the most output tokens go by that name and not as
	// max_tokens.
	MaxCompletionTokens bool
	// MaxTemperature is the highest temperature, 0 if it is not known.
	MaxTemperature float64
	// FixedSampling reports whether temperature and top_p have no effect, or are refused,
	// while the model reasons.
	FixedSampling bool
	// Reasons reports whether the model reasons when no reasoning_effort is set.
	Reasons bool
	// Efforts are the words that reasoning_effort takes, parted by spaces; empty
	// where they are not known, so that any is sent.
	Efforts string
	// MaxStop is how many stop sequences there may be, 0 if it is not known.
	MaxStop int
	// NoEfforts, NoStop, NoSeed, NoVerbosity, NoImages and NoPDF are set where the model refuses these.
	NoEfforts, NoStop, NoSeed, NoVerbosity, NoImages, NoPDF bool
	// MaxImage is how many bytes a picture may have, 0 if the service says nothing.
	MaxImage int
	// NoToolsInReasoning reports whether chat completions refuse tools while the model reasons.
	NoToolsInReasoning bool
	// Responses reports whether the model is called over the Responses API, where nothing else is
	// chosen: it has no other, or takes tools while it reasons only there.
	Responses bool
}

// OverResponses reports whether a model is called over the Responses API.
func (d Dialect) OverResponses(model string) bool {
	return d.API == responsesAPI || d.API == "" && d.limits(model).Responses
}

// limits returns what holds for a model.
func (d Dialect) limits(model string) Limits {
	name := strings.ToLower(path.Base(model))
	for _, m := range d.Models {
		if slices.ContainsFunc(strings.Fields(m.Names), func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			return m.or(d.All)
		}
	}
	return d.All
}

// or fills in what l leaves open.
func (l Limits) or(all Limits) Limits {
	return Limits{
		MaxCompletionTokens: l.MaxCompletionTokens || all.MaxCompletionTokens,
		MaxTemperature:      cmp.Or(l.MaxTemperature, all.MaxTemperature),
		FixedSampling:       l.FixedSampling || all.FixedSampling,
		Reasons:             l.Reasons || all.Reasons,
		Efforts:             cmp.Or(l.Efforts, all.Efforts),
		NoEfforts:           l.NoEfforts || all.NoEfforts && l.Efforts == "",
		MaxStop:             cmp.Or(l.MaxStop, all.MaxStop),
		NoStop:              l.NoStop || all.NoStop,
		NoSeed:              l.NoSeed || all.NoSeed,
		NoVerbosity:         l.NoVerbosity || all.NoVerbosity,
		NoImages:            l.NoImages || all.NoImages,
		NoPDF:               l.NoPDF || all.NoPDF,
		MaxImage:            cmp.Or(l.MaxImage, all.MaxImage),
		NoToolsInReasoning:  l.NoToolsInReasoning || all.NoToolsInReasoning,
		Responses:           l.Responses || all.Responses,
	}
}

// efforts returns the known words, empty if they are not known.
func (l Limits) efforts() []string {
	if l.NoEfforts {
		return nil
	}
	return strings.Fields(l.Efforts)
}

// Rules returns the rules for the schemas of a model's tools.
func (d Dialect) Rules(model string) toolfit.Rules {
	rules := d.Schemas
	if rules == (toolfit.Rules{}) {
		rules = toolfit.Rules{NeedsProperties: true, NeedsItems: true}
	}
	return rules.For(model)
}

// EffortsOf returns the words of a model for reasoning_effort, empty where they are not known.
func (d Dialect) EffortsOf(model string) []string { return d.limits(model).efforts() }

// reasons reports whether a model reasons under these parameters.
func (l Limits) reasons(p backends.Params) bool {
	if p.ReasoningEffort == "" && p.ReasoningTokens == nil {
		return l.Reasons
	}
	return p.Reasons()
}

// Check returns a *backends.ParamError for the first parameter that the model
// cannot take.
func (d Dialect) Check(model string, p backends.Params) error {
	if err := d.checkHosted(model, p); err != nil {
		return err
	}
	l := d.limits(model)
	if p.ReasoningTokens != nil && d.BudgetField == "" {
		return backends.NewParamError("budget_tokens", "%s takes none: set effort in its place", model)
	}
	if err := d.checkEffort(l, model, p.ReasoningEffort); err != nil {
		return err
	}
	if err := d.checkSummary(l, model, p); err != nil {
		return err
	}
	if err := d.checkSampling(l, model, p); err != nil {
		return err
	}
	if d.OwnResponses && d.callsOverResponses(model, p.Hosted) {
		l.NoStop, l.NoSeed = true, true
	}
	switch {
	case len(p.Stop) > 0 && l.NoStop:
		return backends.NewParamError("stop", "%s takes none: leave it out", model)
	case l.MaxStop > 0 && len(p.Stop) > l.MaxStop:
		return backends.NewParamError("stop", "%s takes %d at most, these are %d", model, l.MaxStop, len(p.Stop))
	case p.Seed != nil && l.NoSeed:
		return backends.NewParamError("seed", "%s takes none: leave it out", model)
	case p.Verbosity != "" && l.NoVerbosity:
		return backends.NewParamError("verbosity", "%s takes none: leave it out", model)
	}
	return nil
}

// checkSummary refuses to ask OpenAI for a summary that it does not give. Other services show
// what their models think without being asked.
func (d Dialect) checkSummary(l Limits, model string, p backends.Params) error {
	switch {
	case !d.OwnResponses || !p.WantsSummary():
		return nil
	case l.NoEfforts:
		return backends.NewParamError("summary", "%s does not reason: leave it out", model)
	case !d.callsOverResponses(model, p.Hosted):
		return backends.NewParamError("summary", "chat completions have none: set api: responses, or leave it out")
	}
	return nil
}

// CheckTools returns a *backends.ParamError if the model takes no tools under these
// parameters.
func (d Dialect) CheckTools(model string, p backends.Params) error {
	l := d.limits(model)
	if d.callsOverResponses(model, p.Hosted) || !l.NoToolsInReasoning || !l.reasons(p) {
		return nil
	}
	cures := []string{"api: responses", "tool_mode: json"}
	if slices.Contains(l.efforts(), "none") {
		cures = append(cures, "reasoning_effort: none")
	}
	return backends.NewParamError("tool_mode", "%s takes no tools in chat completions while it reasons: set %s", model, alternatives(cures))
}

func (d Dialect) checkEffort(l Limits, model, effort string) error {
	known := l.efforts()
	switch {
	case effort == "", effort == "none" && d.NoThinking != nil:
		return nil
	case l.NoEfforts:
		return backends.NewParamError("reasoning_effort", "%s takes none: leave it out", model)
	case len(known) > 0 && !slices.Contains(known, effort):
		return backends.NewParamError("reasoning_effort", "%s takes %s, not %s", model, alternatives(known), effort)
	}
	return nil
}

func (d Dialect) checkSampling(l Limits, model string, p backends.Params) error {
	for _, s := range []struct {
		name  string
		value *float64
		most  float64
	}{{"temperature", p.Temperature, l.MaxTemperature}, {"top_p", p.TopP, 0}} {
		switch {
		case s.value == nil:
		case l.FixedSampling && l.reasons(p) && *s.value != 1:
			cure := "leave it out"
			if d.NoThinking != nil || slices.Contains(l.efforts(), "none") {
				cure += ", or set reasoning_effort: none"
			}
			return backends.NewParamError(s.name, "%s takes none but 1 while it reasons: %s", model, cure)
		case s.most > 0 && *s.value > s.most:
			return backends.NewParamError(s.name, "%s takes 0 to %v, not %v", model, s.most, *s.value)
		}
	}
	return nil
}

// alternatives is "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
