package live

import (
	"cmp"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// service is a real one, with a cheap model that reasons.
type service struct {
	name, key, baseURL, model string
	// missing says what would have to be set to call it, "" if nothing.
	missing string
}

// services are all of them, as an environment sets them. An address of one's own, and no model, is
// asked for its first, and not called over the Responses API.
func services(env func(name string) string) []service {
	claude := service{name: "claude", key: env("ANTHROPIC_API_KEY"), baseURL: env("ANTHROPIC_BASE_URL"), model: cmp.Or(env("ANTHROPIC_MODEL"), "claude-haiku-4-5")}
	google := service{name: "gemini", key: cmp.Or(env("GEMINI_API_KEY"), env("GOOGLE_API_KEY")), baseURL: env("GEMINI_BASE_URL"), model: cmp.Or(env("GEMINI_MODEL"), "gemini-3.5-flash")}
	chat := service{name: "openai", key: env("OPENAI_API_KEY"), baseURL: env("OPENAI_BASE_URL"), model: env("OPENAI_MODEL")}
	responses := chat
	responses.name, responses.model = "responses", env("OPENAI_RESPONSES_MODEL")
	if chat.baseURL == "" {
		chat.model, responses.model = cmp.Or(chat.model, "gpt-5-mini"), cmp.Or(responses.model, "gpt-5.4-mini")
	}
	list := []service{claude, google, chat, responses}
	for i, key := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY"} {
		s := &list[i]
		switch {
		case s.key == "" && (s.kind() != "openai" || s.baseURL == ""):
			s.missing = key
		case s.name == "responses" && s.model == "": // its models need not have this API
			s.missing = "OPENAI_RESPONSES_MODEL"
		}
	}
	return list
}

// kind is who is called, as a configuration names it.
func (s service) kind() string {
	if s.name == "responses" {
		return "openai"
	}
	return s.name
}

// isOthers reports whether an address of OpenAI's protocol is not OpenAI's: what it can do is not known.
func (s service) isOthers() bool { return s.kind() == "openai" && s.baseURL != "" }

// live is the service as the suite calls it, without its backend.
func (s service) live() backendtest.Live {
	live := dialect(s.name)
	live.Model = s.model
	live.Hosts, live.Sees = live.Hosts && !s.isOthers(), !s.isOthers()
	if !s.isOthers() {
		live.Efforts = s.efforts()
	}
	return live
}

// efforts are the words for the effort that the model is known to take.
func (s service) efforts() (words []string) {
	if s.kind() == "openai" {
		return openai.OpenAI().EffortsOf(s.model)
	}
	check := anthropic.CheckParams
	if s.name == "gemini" {
		check = gemini.CheckParams
	}
	for word := range strings.FieldsSeq("none minimal low medium high xhigh max") {
		if check(s.model, backends.Params{ReasoningEffort: word}) == nil {
			words = append(words, word)
		}
	}
	return words
}
