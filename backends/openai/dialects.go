package openai

// OpenAI is the dialect of OpenAI itself.
//
// The reference ("Create chat completion") deprecates max_tokens; the models since
// o1 refuse it. They take only the default temperature and top_p while they reason
// (guide "Reasoning"; LiteLLM's gpt_reasoning_transformation.py tells the models
// apart in the same way), and no stop (github.com/BerriAI/litellm, same file). From
// 5.4 on they refuse function tools while they reason; the service sends callers to
// its Responses API (github.com/openai/openai-openapi/issues/541,
// github.com/BerriAI/litellm/pull/34569). Its other efforts belong to that API. As of
// November 2026.
func OpenAI() Dialect {
	return Dialect{
		All: Limits{MaxCompletionTokens: true, MaxStop: 4},
		Models: []ModelLimits{
			{"gpt-3.5 gpt-4 chatgpt-4", Limits{Efforts: NoEfforts}},
			{"gpt-5-chat gpt-5.1-chat gpt-5.2-chat gpt-5.3-chat chat-latest", Limits{}},
			{"gpt-6-astra gpt-6.1-sol", Limits{
				FixedSampling: true, Reasons: true, NoStop: true, NoToolsInReasoning: true, Efforts: "low medium high xhigh",
			}},
			{"gpt-6 gpt-5.5 gpt-5.6", Limits{
				FixedSampling: true, Reasons: true, NoStop: true, NoToolsInReasoning: true, Efforts: "none low medium high xhigh",
			}},
			{"gpt-5.4", Limits{FixedSampling: true, NoStop: true, NoToolsInReasoning: true, Efforts: "none low medium high xhigh"}},
			{"gpt-5.2 gpt-5.3", Limits{FixedSampling: true, NoStop: true, Efforts: "none low medium high xhigh"}},
			{"gpt-5.1", Limits{FixedSampling: true, NoStop: true, Efforts: "none low medium high"}},
			{"gpt-5", Limits{FixedSampling: true, Reasons: true, NoStop: true, Efforts: "minimal low medium high"}},
			{"o3-mini", Limits{FixedSampling: true, Reasons: true, NoImages: true, Efforts: "low medium high"}},
			{"o1", Limits{FixedSampling: true, Reasons: true, Efforts: "low medium high"}},
			{"o3 o4", Limits{FixedSampling: true, Reasons: true, NoStop: true, Efforts: "low medium high"}},
		},
	}
}

// Compatible is the dialect of a service of which nothing is known: it is sent what
// there is, and max_tokens. Only models of OpenAI's are known by their names, since
// whoever passes calls on to them passes on that they refuse it.
func Compatible() Dialect {
	return Dialect{
		Models:    []ModelLimits{{"o1 o3 o4 gpt-5 gpt-6", Limits{MaxCompletionTokens: true}}},
		ThinkTags: true,
	}
}
