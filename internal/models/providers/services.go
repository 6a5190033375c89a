package providers

import (
	"slices"

	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/internal/models/toolfit"
)

// providers lists them in the order in which type auto takes them. What a service
// cannot take is that of its own reference as of November 2026, where no other
// source is named; docs/backends.md shows it and says how it was found.
var providers = slices.Concat(largeProviders(), hosts(), otherProviders(), localServers(), anybody())

// largeProviders are those of whom most people have a key.
func largeProviders() []provider {
	return []provider{
		{
			name: openAIType, title: "OpenAI", baseURL: openai.DefaultBaseURL, urlVars: []string{"OPENAI_BASE_URL"}, domain: "openai.com",
			keyVars: []string{"OPENAI_API_KEY"}, prefixes: []string{"gpt-", "chatgpt-", "o1", "o3", "o4"},
			model: "gpt-5-mini", protocol: chat{openai.OpenAI()},
		},
		{
			name: "claude", title: "Anthropic", baseURL: anthropic.DefaultBaseURL, domain: "anthropic.com",
			keyVars: []string{"ANTHROPIC_API_KEY"}, prefixes: []string{"claude-"},
			model: "claude-sonnet-5-5", protocol: claude{},
		},
		{
			name: "gemini", title: "Google Gemini", baseURL: gemini.DefaultBaseURL, domain: "googleapis.com",
			keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, prefixes: []string{"gemini-"},
			model: "gemini-2.5-flash", protocol: google{},
		},
		{
			name: "grok", title: "xAI", baseURL: "https://api.x.ai/v1",
			keyVars: []string{"XAI_API_KEY"}, prefixes: []string{"grok-"}, model: "grok-4.3",
			// https://docs.x.ai/docs/guides/reasoning, https://docs.x.ai/developers/tools/overview;
			// stop: LiteLLM, llms/xai
			protocol: chat{openai.Dialect{All: openai.Limits{NoPDF: true}, Hosted: "web_search code_execution", HostedGoThere: true, Models: []openai.ModelLimits{
				{Names: "grok-3-mini", Limits: openai.Limits{NoStop: true, Efforts: "low high"}},
				{Names: "grok-4.20-multi-agent", Limits: openai.Limits{NoStop: true, Efforts: "low medium high xhigh"}},
				{Names: "grok-4.20 grok-code grok-build", Limits: openai.Limits{NoStop: true, NoEfforts: true}},
				{Names: "grok-4.3", Limits: openai.Limits{NoStop: true, Efforts: "none low medium high"}},
				{Names: "grok-4.5", Limits: openai.Limits{NoStop: true, Efforts: "low medium high"}},
				{Names: "grok-4.", Limits: openai.Limits{NoStop: true}},
				{Names: "grok-4", Limits: openai.Limits{NoStop: true, NoEfforts: true}},
			}}},
		},
		{
			name: "deepseek", title: "DeepSeek", baseURL: "https://api.deepseek.com/v1",
			keyVars: []string{"DEEPSEEK_API_KEY"}, model: "deepseek-flash",
			// https://api-docs.deepseek.com/guides/thinking_mode
			protocol: chat{openai.Dialect{
				Schemas: toolfit.UpTo128(), All: openai.Limits{NoSeed: true, NoPDF: true, MaxStop: 16},
				Models: []openai.ModelLimits{
					{Names: "deepseek-chat", Limits: openai.Limits{NoImages: true}},
					{Names: "deepseek-reasoner deepseek-v4-pro", Limits: openai.Limits{
						NoImages: true, FixedSampling: true, Reasons: true, Efforts: "minimal low medium high xhigh max",
					}},
					{Names: "deepseek-", Limits: openai.Limits{
						FixedSampling: true, Reasons: true, Efforts: "minimal low medium high xhigh max",
					}},
				},
				JSONObject: true, Reasoning: openai.ReasoningContent, NeedsReasoning: true, NoThinking: thinkingDisabled(),
			}},
		},
		{
			name: "mistral", title: "Mistral", baseURL: "https://api.mistral.ai/v1",
			keyVars: []string{"MISTRAL_API_KEY"}, model: "mistral-medium-latest",
			// stream_options: github.com/openai/openai-agents-python/issues/442; efforts:
			// LiteLLM, reasoning_effort_levels of each model
			protocol: chat{openai.Dialect{
				All: openai.Limits{MaxTemperature: 1.5, NoPDF: true},
				Models: []openai.ModelLimits{
					{Names: "codestral open-mistral-nemo mistral-nemo", Limits: openai.Limits{NoImages: true, NoEfforts: true}},
					{Names: "mistral-medium-latest mistral-medium-2604 mistral-medium-3-5 mistral-medium-3.5 mistral-small-latest mistral-small-2603 mistral-large-4",
						Limits: openai.Limits{Efforts: "none high"}},
					{Names: "ministral pixtral mistral-large-2512 mistral-large-3", Limits: openai.Limits{NoEfforts: true}},
				},
				SeedField: "random_seed", NoStreamUsage: true, NineLetterIDs: true,
			}},
		},
	}
}

// thinkingDisabled is how several services from China want to hear that a model shall not
// reason.
func thinkingDisabled() map[string]any {
	return map[string]any{"thinking": map[string]string{"type": "disabled"}}
}

// hosts run open models, or pass calls on to others.
func hosts() []provider {
	gptOSS := openai.ModelLimits{Names: "gpt-oss", Limits: openai.Limits{NoImages: true, Efforts: "low medium high"}}
	return []provider{
		{
			name: "openrouter", title: "OpenRouter", baseURL: "https://openrouter.ai/api/v1",
			keyVars: []string{"OPENROUTER_API_KEY"}, model: "openai/gpt-5-mini",
			// https://openrouter.ai/docs/use-cases/reasoning-tokens
			protocol: chat{openai.Dialect{
				All:       openai.Limits{Efforts: "none minimal low medium high xhigh"},
				Reasoning: openai.ReasoningDetails, WebPlugin: true,
			}},
		},
		{
			name: "groq", title: "Groq", baseURL: "https://api.groq.com/openai/v1",
			keyVars: []string{"GROQ_API_KEY"}, model: "openai/gpt-oss-120b",
			// https://console.groq.com/docs/structured-outputs, https://console.groq.com/docs/reasoning,
			// https://console.groq.com/docs/vision: requests of 4 MB, in Base64
			protocol: chat{openai.Dialect{
				Schemas: toolfit.UpTo128(), All: openai.Limits{MaxStop: 4, NoPDF: true, MaxImage: 2_900_000},
				Models: []openai.ModelLimits{
					gptOSS, {Names: "llama-3", Limits: openai.Limits{NoImages: true, NoEfforts: true}},
				},
				WholeJSON: true, ThinkTags: true,
			}},
		},
		{
			name: "cerebras", title: "Cerebras", baseURL: "https://api.cerebras.ai/v1",
			keyVars: []string{"CEREBRAS_API_KEY"}, model: "gpt-oss-120b",
			// https://inference-docs.cerebras.ai/capabilities/reasoning
			protocol: chat{openai.Dialect{
				All: openai.Limits{MaxStop: 4, NoPDF: true},
				Models: []openai.ModelLimits{
					gptOSS,
					{Names: "zai-glm", Limits: openai.Limits{NoImages: true, Efforts: "none"}},
					{Names: "llama qwen-3-", Limits: openai.Limits{NoImages: true}},
				},
				ThinkTags: true,
			}},
		},
		{
			name: "together", title: "Together AI", baseURL: "https://api.together.xyz/v1",
			keyVars: []string{"TOGETHER_API_KEY"}, model: "openai/gpt-oss-120b",
			protocol: chat{openai.Dialect{All: openai.Limits{NoPDF: true}, Models: []openai.ModelLimits{gptOSS}, ThinkTags: true}},
		},
		{
			name: "fireworks", title: "Fireworks AI", baseURL: "https://api.fireworks.ai/inference/v1",
			keyVars: []string{"FIREWORKS_API_KEY"}, model: "accounts/fireworks/models/gpt-oss-120b",
			protocol: chat{openai.Dialect{All: openai.Limits{NoPDF: true}, Models: []openai.ModelLimits{gptOSS}, ThinkTags: true}},
		},
		{
			name: "nvidia_nim", title: "NVIDIA NIM", baseURL: "https://integrate.api.nvidia.com/v1",
			keyVars: []string{"NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"}, model: "openai/gpt-oss-120b",
			// https://docs.api.nvidia.com/nim/
			protocol: chat{openai.Dialect{All: openai.Limits{NoPDF: true}, Models: []openai.ModelLimits{gptOSS}, ThinkTags: true}},
		},
		{
			name: "nebius", title: "Nebius Token Factory", baseURL: "https://api.tokenfactory.nebius.com/v1",
			keyVars: []string{"NEBIUS_API_KEY"}, model: "openai/gpt-oss-120b",
			// https://docs.tokenfactory.nebius.com/api-reference/inference/create-chat-completion
			protocol: chat{openai.Dialect{
				All: openai.Limits{NoPDF: true, Efforts: "low medium high"}, Models: []openai.ModelLimits{gptOSS}, ThinkTags: true,
			}},
		},
		{
			name: "poe", title: "Poe", baseURL: "https://api.poe.com/v1", keyVars: []string{"POE_API_KEY"},
			// It ignores reasoning_effort outside of an extra_body:
			// https://creator.poe.com/docs/external-applications/openai-compatible-api
			protocol: chat{openai.Dialect{All: openai.Limits{NoSeed: true, NoEfforts: true}, ThinkTags: true}},
		},
	}
}

// otherProviders have models of their own.
func otherProviders() []provider {
	const allEfforts = "none minimal low medium high xhigh max"
	return []provider{
		{
			name: "zai", title: "Z.ai", baseURL: "https://api.z.ai/api/paas/v4",
			keyVars: []string{"ZAI_API_KEY", "ZHIPU_API_KEY"}, prefixes: []string{"glm-"}, model: "glm-5.3-flash",
			// https://docs.z.ai/api-reference/llm/chat-completion
			protocol: chat{openai.Dialect{
				Schemas: toolfit.UpTo128(), All: openai.Limits{NoSeed: true, NoPDF: true, MaxStop: 1, MaxTemperature: 1},
				Models: []openai.ModelLimits{
					{Names: "glm-5.3-flash", Limits: openai.Limits{Efforts: "low high max"}},
					{Names: "glm-5.3", Limits: openai.Limits{NoImages: true, Efforts: "low high max"}},
					{Names: "glm-5.2", Limits: openai.Limits{NoImages: true, Efforts: allEfforts}},
					{Names: "glm-4.5v glm-4.6v glm-5v", Limits: openai.Limits{NoEfforts: true}},
					{Names: "glm-4.5 glm-4.6 glm-4.7 glm-5", Limits: openai.Limits{NoImages: true, NoEfforts: true}},
				},
				JSONObject: true, Reasoning: openai.ReasoningContent, NoThinking: thinkingDisabled(),
			}},
		},
		{
			name: "qwen", title: "Alibaba Model Studio", baseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
			keyVars: []string{"DASHSCOPE_API_KEY", "QWEN_API_KEY"}, model: "qwen3.8-flash",
			// https://www.alibabacloud.com/help/en/model-studio/deep-thinking
			protocol: chat{openai.Dialect{
				All: openai.Limits{NoPDF: true},
				Models: []openai.ModelLimits{{
					Names:  "qwen-plus qwen-max qwen-turbo qwen-flash qwen-coder qwen3-max qwen3-coder qwen3-next qwen3.7-max qwq",
					Limits: openai.Limits{NoImages: true},
				}},
				JSONObject: true, NoThinking: map[string]any{"enable_thinking": false},
				Thinking: map[string]any{"enable_thinking": true}, BudgetField: "thinking_budget",
			}},
		},
		{
			name: "moonshot", title: "Moonshot AI (Kimi)", baseURL: "https://api.moonshot.ai/v1",
			keyVars: []string{"MOONSHOT_API_KEY", "KIMI_API_KEY"}, prefixes: []string{"kimi-"}, model: "kimi-k3.1-pro",
			// https://platform.kimi.ai/docs/api/models-overview
			protocol: chat{openai.Dialect{
				Schemas: toolfit.Moonshot(), All: openai.Limits{NoSeed: true, NoPDF: true, MaxStop: 5, MaxTemperature: 1},
				Models: []openai.ModelLimits{
					{Names: "kimi-k3", Limits: openai.Limits{FixedSampling: true, Reasons: true, Efforts: "low high max"}},
					{Names: "kimi-", Limits: openai.Limits{FixedSampling: true, Reasons: true, NoEfforts: true}},
					{Names: "moonshot-v1-8k-vision moonshot-v1-32k-vision moonshot-v1-128k-vision", Limits: openai.Limits{NoEfforts: true}},
					{Names: "moonshot-v1", Limits: openai.Limits{NoImages: true, NoEfforts: true}},
				},
				Reasoning: openai.ReasoningContent, NeedsReasoning: true,
			}},
		},
		{
			name: azureType, title: "Azure OpenAI", urlVars: []string{"AZURE_OPENAI_ENDPOINT"}, domain: "openai.azure.com",
			keyVars: []string{"AZURE_OPENAI_API_KEY"}, protocol: azure{},
		},
	}
}

// localServers are model servers on this machine.
func localServers() []provider {
	servers := []provider{
		{
			name: "ollama", title: "Ollama", baseURL: "http://localhost:11434/v1", local: true,
			urlVars: []string{"OLLAMA_HOST"}, readURL: ollamaAddress, hint: "start it with: ollama serve",
			// https://docs.ollama.com/openai
			protocol: chat{openai.Dialect{Schemas: toolfit.Ollama(), All: openai.Limits{NoPDF: true, Efforts: "none low medium high max"}, ThinkTags: true, EndsLoops: true}},
		},
	}
	local := func(schemas toolfit.Rules) protocol {
		return chat{openai.Dialect{Schemas: schemas, All: openai.Limits{NoPDF: true}, ThinkTags: true, EndsLoops: true}}
	}
	// LM Studio, vLLM and SGLang read no variable for their address.
	for _, s := range []provider{
		{name: "lmstudio", title: "LM Studio", baseURL: "http://localhost:1234/v1", hint: "start its server with: lms server start", protocol: local(toolfit.LMStudio())},
		{
			name: "llamacpp", title: "llama.cpp", baseURL: "http://localhost:8080/v1", hint: "start it with: llama-server --jinja -m MODEL.gguf",
			urlVars: []string{"LLAMA_ARG_HOST", "LLAMA_ARG_PORT", "LLAMA_ARG_API_PREFIX"}, readURL: llamaAddress, protocol: local(toolfit.LlamaCpp()),
		},
		{name: "vllm", title: "vLLM", baseURL: "http://localhost:8000/v1", hint: "start it with: vllm serve MODEL", protocol: local(toolfit.Rules{})},
		{name: "sglang", title: "SGLang", baseURL: "http://localhost:30000/v1", hint: "start it with: python -m sglang.launch_server", protocol: local(toolfit.Rules{})},
	} {
		s.local = true
		servers = append(servers, s)
	}
	return servers
}

// anybody are the types that name no service.
func anybody() []provider {
	dialect := openai.Compatible()
	dialect.API = "chat"
	return []provider{
		{name: anyType, title: "any compatible service", protocol: chat{dialect}},
		{name: Demo, title: "canned answers, offline", baseURL: "none", model: "demo", protocol: demo{}},
		{name: simulatedType, title: "simulated, offline", baseURL: "none", model: simulatedType, protocol: simulated{}},
	}
}
