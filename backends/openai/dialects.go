package openai

import "github.com/massgen/massgen/internal/models/toolfit"

// OpenAI is the dialect of OpenAI itself.
//
// The reference ("Create chat completion") deprecates max_tokens; the models since
// o1 refuse it. They take only the default temperature and top_p while they reason
// (guide "Reasoning"; LiteLLM's gpt_reasoning_transformation.py tells the models
// apart in the same way), and no stop (github.com/BerriAI/litellm, same file). From
// 5.4 on they refuse function tools while they reason; the service sends callers to
// its Responses API (github.com/openai/openai-openapi/issues/541,
// github.com/BerriAI/litellm/pull/34569). The models of responsesOnly are found nowhere
// else (their pages; LiteLLM's model_prices, mode "responses"). As of November 2026.
func OpenAI() Dialect {
	return Dialect{
		Schemas: toolfit.OpenAI(), OwnResponses: true, ShortIDs: true, Hosted: builtInTools, HostedGoThere: true, LimitsHosted: true,
		All: Limits{MaxCompletionTokens: true, MaxStop: 4},
		Models: []ModelLimits{
			{"gpt-5-pro", Limits{FixedSampling: true, Reasons: true, NoStop: true, Responses: true, Efforts: "high"}},
			{"gpt-5.2-pro gpt-5.4-pro", Limits{FixedSampling: true, Reasons: true, NoStop: true, Responses: true, Efforts: "medium high xhigh"}},
			{responsesOnly, Limits{FixedSampling: true, Reasons: true, NoStop: true, Responses: true}},
			{"gpt-3.5 gpt-4-0 gpt-4-32k", Limits{NoImages: true, NoEfforts: true, NoVerbosity: true}},
			{"gpt-4 chatgpt-4", Limits{NoEfforts: true, NoVerbosity: true}},
			{"gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat chat-latest", Limits{}},
			{"gpt-6-astra gpt-6.1-sol", Limits{
				FixedSampling: true, Reasons: true, NoStop: true, NoToolsInReasoning: true, Responses: true, Efforts: "low medium high xhigh",
			}},
			{"gpt-6 gpt-5.5 gpt-5.6", Limits{
				FixedSampling: true, Reasons: true, NoStop: true, NoToolsInReasoning: true, Responses: true, Efforts: "none low medium high xhigh",
			}},
			{"gpt-5.4", Limits{
				FixedSampling: true, NoStop: true, NoToolsInReasoning: true, Responses: true, Efforts: "none low medium high xhigh",
			}},
			{"gpt-5.2 gpt-5.3", Limits{FixedSampling: true, NoStop: true, Efforts: "none low medium high xhigh"}},
			{"gpt-5.1", Limits{FixedSampling: true, NoStop: true, Efforts: "none low medium high"}},
			{"gpt-5", Limits{FixedSampling: true, Reasons: true, NoStop: true, Efforts: "minimal low medium high"}},
			{"o3-mini", Limits{FixedSampling: true, Reasons: true, NoVerbosity: true, NoImages: true, Efforts: "low medium high"}},
			{"o1", Limits{FixedSampling: true, Reasons: true, NoVerbosity: true, Efforts: "low medium high"}},
			{"o3 o4", Limits{FixedSampling: true, Reasons: true, NoStop: true, NoVerbosity: true, Efforts: "low medium high"}},
		},
	}
}

// responsesOnly are models that chat completions do not have, beside those whose efforts are known.
const responsesOnly = "gpt-5-codex gpt-5.1-codex gpt-5.2-codex gpt-5.3-codex codex- o1-pro o3-pro o3-deep-research " +
	"o4-mini-deep-research computer-use-preview"

// Compatible is the dialect of an unknown service: it is sent every parameter, and
// max_tokens. OpenAI's models are known by their names, since a service that passes
// calls on to them refuses what they refuse.
func Compatible() Dialect {
	return Dialect{
		Models: []ModelLimits{
			{"gpt-5.4 gpt-5.5 gpt-5.6 gpt-6 gpt-5-pro gpt-5.2-pro " + responsesOnly, Limits{MaxCompletionTokens: true, Responses: true}},
			{"o1 o3 o4 gpt-5", Limits{MaxCompletionTokens: true}},
		},
		Schemas: toolfit.Compatible(), ThinkTags: true, Hosted: builtInTools, LimitsHosted: true,
	}
}
