package wire

import (
	"errors"
	"net/http"
	"regexp"

	"github.com/massgen/massgen/backends"
)

// noTools matches the refusals of services that take no tools for a model:
// Ollama ("… does not support tools"), xAI ("The model does not support tool use or
// function calling"), OpenRouter ("No endpoints found that support tool use"), vLLM
// ("… requires --enable-auto-tool-choice"), llama.cpp ("tools param requires --jinja
// flag", "Unsupported param: tools"), Groq ("`tool calling` is not supported with
// this model"), Mistral and Gemini ("Function calling is not enabled for …"), OpenAI
// ("Function tools with reasoning_effort are not supported for … in
// /v1/chat/completions").
const noTools = `(?i)(not|n't) (currently )?support (the use of )?(tools?|functions?)\b` +
	`|no endpoints found that support tool use` +
	`|--enable-auto-tool-choice|requires --jinja|unsupported param: tools` +
	`|function tools with reasoning_effort are not supported` +
	`|\b(tools?|tool[- ]calling|tool[- ]use|tool calls|functions?|function[- ]calling)\W{0,2} (is|are) not (currently )?(supported|enabled|available)`

// noStream matches the refusals of services that answer only whole, with tools or at
// all: older llama.cpp ("Cannot use tools with stream"), Groq in its time
// ("Tool and function calls do not currently support streaming"), Llama on Bedrock
// ("This model doesn't support tool use in streaming mode"), OpenAI before an account
// is verified ("Your organization must be verified to stream this model").
const noStream = `(?i)cannot use tools with stream|must be verified to stream` +
	`|(not|n't) (currently )?support (tools? |tool use |tool calling |function calling )?(in |with )?(the )?stream` +
	`|\bstream(ing)?\W{0,2} (mode )?(is|are) not (currently )?(supported|enabled|available)`

// SaysNoStream reports whether err is the refusal of a service that cannot stream the
// answer.
func SaysNoStream(err error) bool {
	var e *backends.Error
	return errors.As(err, &e) && e.Status >= http.StatusBadRequest && saysNoStream(e.Message)
}

func saysNoStream(message string) bool { return regexp.MustCompile(noStream).MatchString(message) }

// markNoTools marks the refusal of a service that takes no tools for the model. llama.cpp
// refuses with HTTP 500, and yet a repetition would change nothing.
func markNoTools(e *backends.Error) {
	if e.Kind != backends.KindBadRequest && e.Kind != backends.KindOverloaded {
		return
	}
	if regexp.MustCompile(noTools).MatchString(e.Message) && !saysNoStream(e.Message) {
		e.Kind, e.NoTools = backends.KindBadRequest, true
	}
}
