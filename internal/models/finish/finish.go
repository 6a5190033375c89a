// Package finish classifies the words of providers for the end of an answer: one table for all
// protocols.
package finish

import (
	"fmt"
	"strings"
	"unicode"
)

// Ending is how an answer ended.
type Ending string

// The endings of an answer.
const (
	// Whole is an answer that the model ended.
	Whole Ending = "whole"
	// AtLimit is an answer that was cut at its limit of tokens.
	AtLimit Ending = "limit"
	// Cut is an answer that was cut for another reason.
	Cut Ending = "cut"
	// Withheld is an answer that the provider blocked or the model refused.
	Withheld Ending = "withheld"
	// Failed is an answer that the service failed to finish.
	Failed Ending = "failed"
	// Unknown is an answer with a word that is not known. A pause is one too: nobody has gone on
	// with the answer.
	Unknown Ending = "unknown"
)

// Repetition is the word for an answer that massgen ended, because it only repeated itself.
const Repetition = "repetition"

// The words of all protocols, and of services that speak them. Their sources: the references of OpenAI
// ("finish_reason", "incomplete_details"), Anthropic ("Stop reasons"), Google ("FinishReason"), Amazon
// ("stopReason"), Mistral, Cohere, DeepSeek and Zhipu, and the source of vLLM, SGLang, TGI, llama.cpp,
// Ollama and OpenRouter.
const (
	wholeWords = `stop end_turn tool_calls tool_call tool_use function_call function_calls stop_sequence completed complete
		end done finished finish success eos eos_token end_of_text end_of_sequence stop_token stop_str stop_criteria
		stop_sequence_reached compaction continuation null none unspecified finish_reason_unspecified`
	limitWords = `length max_tokens max_token max_length max_output_tokens max_completion_tokens max_new_tokens
		max_tokens_reached max_output_reached token_limit output_limit limit`
	cutWords = `model_context_window_exceeded context_window_exceeded context_length_exceeded context_length context_limit
		context_window model_length max_context_length max_model_len exceed_context abort aborted cancel cancelled canceled
		interrupted interrupt incomplete truncated cut budget_exceeded tool_call_limit max_tool_calls
		preempted user_cancelled client_disconnected disconnected time_limit repetition repeat repetition_detected loop`
	withheldWords = `content_filter content_filtered contentfilter content_policy content_policy_violation safety sensitive refusal
		refused recitation language blocklist blocked prohibited_content spii image_safety image_prohibited_content image_recitation
		model_armor guardrail guardrail_intervened guardrails moderation flagged policy_violation error_toxic`
	failedWords = `error timeout timed_out network_error insufficient_system_resource insufficient_system_resources server_error
		internal_error internal_server_error service_unavailable unavailable overloaded rate_limit rate_limited rate_limit_exceeded
		failed failure error_limit upstream_error provider_error engine_error engine_overloaded exception oom out_of_memory crashed
		malformed_function_call malformed_tool_call malformed_response unexpected_tool_call invalid_tool_call missing_thought_signature
		too_many_tool_calls no_image image_other other`
)

// bare returns a word without case and marks: each protocol writes them in another way.
func bare(word string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, strings.TrimSpace(word))
}

// Of returns the ending for a provider's word. An empty word is the end mark of an answer, and so a
// whole one. A word may have an explanation behind a colon.
func Of(reason string) Ending {
	word, _, _ := strings.Cut(reason, ":")
	word = strings.TrimPrefix(bare(word), "finishreason")
	if word == "" {
		return Whole
	}
	for _, known := range []struct {
		words  string
		ending Ending
	}{{wholeWords, Whole}, {limitWords, AtLimit}, {cutWords, Cut}, {withheldWords, Withheld}, {failedWords, Failed}} {
		for one := range strings.FieldsSeq(known.words) {
			if bare(one) == word {
				return known.ending
			}
		}
	}
	return Unknown
}

// Warning returns the warning for a message that did not end as it should, by the provider's word.
func Warning(message, finish string, cut bool) string {
	switch {
	case finish == Repetition:
		return message + " was ended because it only repeated itself: what it says may be incomplete"
	case cut:
		return fmt.Sprintf("%s was cut (%s): what it says may be incomplete", message, finish)
	}
	return fmt.Sprintf("%s ended with a word that is not known (%s): what it says may be incomplete", message, finish)
}
