package backends

import "strings"

// Ending classifies a provider's word for the end of an answer.
type Ending string

// The endings of an answer.
const (
	// EndedWhole is an answer that the model ended.
	EndedWhole Ending = "whole"
	// EndedAtLimit is an answer that was cut at its limit of tokens.
	EndedAtLimit Ending = "limit"
	// EndedCut is an answer that was cut for another reason.
	EndedCut Ending = "cut"
	// EndedWithheld is an answer that the provider blocked or the model refused.
	EndedWithheld Ending = "withheld"
	// EndedFailed is an answer that the service failed to finish.
	EndedFailed Ending = "failed"
	// EndedUnknown is an answer with a word that is not known.
	EndedUnknown Ending = "unknown"
)

// RepetitionReason is the reason of an answer that massgen ended, because it only repeated itself.
const RepetitionReason = "repetition"

// endings has the words of all protocols, and of services that speak them, without case and marks.
// The sources: OpenAI's reference ("finish_reason", "incomplete_details"), Anthropic's ("Stop
// reasons"), Google's ("FinishReason"), Amazon's ("stopReason"), Mistral's, Cohere's, DeepSeek's and
// Zhipu's references, and the source of vLLM, SGLang, TGI, llama.cpp, Ollama and OpenRouter.
var endings = wordsOf(map[Ending]string{
	EndedWhole: `stop end_turn tool_calls tool_call tool_use function_call function_calls stop_sequence completed complete
		end done finished finish success eos eos_token end_of_text end_of_sequence stop_token stop_str stop_criteria
		stop_sequence_reached compaction continuation null none unspecified finish_reason_unspecified`,
	EndedAtLimit: `length max_tokens max_token max_length max_output_tokens max_completion_tokens max_new_tokens
		max_tokens_reached max_output_reached token_limit output_limit limit`,
	EndedCut: `model_context_window_exceeded context_window_exceeded context_length_exceeded context_length context_limit
		context_window model_length max_context_length max_model_len exceed_context abort aborted cancel cancelled canceled
		interrupted interrupt incomplete truncated cut budget_exceeded tool_call_limit max_tool_calls
		preempted user_cancelled client_disconnected disconnected time_limit repetition repeat repetition_detected loop`,
	EndedWithheld: `content_filter content_filtered contentfilter content_policy content_policy_violation safety sensitive refusal
		refused recitation language blocklist blocked prohibited_content spii image_safety image_prohibited_content image_recitation
		model_armor guardrail guardrail_intervened guardrails moderation flagged policy_violation error_toxic`,
	EndedFailed: `error timeout timed_out network_error insufficient_system_resource insufficient_system_resources server_error
		internal_error internal_server_error service_unavailable unavailable overloaded rate_limit rate_limited rate_limit_exceeded
		failed failure error_limit upstream_error provider_error engine_error engine_overloaded exception oom out_of_memory crashed
		malformed_function_call malformed_tool_call malformed_response unexpected_tool_call invalid_tool_call missing_thought_signature
		too_many_tool_calls no_image image_other other`,
})

func wordsOf(lists map[Ending]string) map[string]Ending {
	out := map[string]Ending{}
	for ending, words := range lists {
		for word := range strings.FieldsSeq(words) {
			out[bare(word)] = ending
		}
	}
	return out
}

// bare returns a word without case and marks: each protocol writes them in another way.
func bare(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(strings.TrimSpace(word)))
}

// EndingOf returns the ending for a provider's word. An empty word is the end mark of an answer, and
// so a whole one. A word may have an explanation behind a colon.
func EndingOf(reason string) Ending {
	word, _, _ := strings.Cut(reason, ":")
	word = strings.TrimPrefix(bare(word), "finishreason")
	if word == "" {
		return EndedWhole
	}
	if ending, known := endings[word]; known {
		return ending
	}
	return EndedUnknown
}

// Ending returns the ending of the answer. A provider that pauses an answer ends it with a word that is
// not known here: nobody has gone on with it.
func (r Response) Ending() Ending { return EndingOf(r.Finish) }
