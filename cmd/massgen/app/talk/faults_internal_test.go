package talk

import (
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/coordinator/report"
)

// TestReasonsAreToldOnce: the end of a turn has each reason once, however many calls failed for it.
func TestReasonsAreToldOnce(t *testing.T) {
	const (
		openai = "openai: network: dial tcp: lookup api.openai.com on 10.0.0.1:53: no such host: is https://api.openai.com/v1 right, and can it be reached from here?"
		claude = "claude: network: dial tcp: lookup api.anthropic.com: no such host: is https://api.anthropic.com right, and can it be reached from here?"
		broken = "openai: overloaded: not called until 13:55:51, since it failed too often; last: " + openai
		key    = "claude: auth (HTTP 401): invalid x-api-key: check the key in ANTHROPIC_API_KEY"
	)
	both := "claude: network: 2 models failed: openai/gpt-5-mini: " + openai + "; claude/claude-sonnet-5-5: " + claude
	mixed := "claude: auth (HTTP 401): 2 models failed: openai/gpt-5-mini: " + openai + "; claude/claude-sonnet-5-5: " + key
	for name, test := range map[string]struct{ errors, want []string }{
		"one":             {[]string{openai}, []string{"no answer: a: " + openai}},
		"one with more":   {[]string{both}, []string{"no answer: no such host, 2 times: is this machine online? api.openai.com, api.anthropic.com could not be reached"}},
		"one with mixed":  {[]string{mixed}, []string{"no answer: a: " + mixed}},
		"words of models": {[]string{"openai: bad request: 2 models failed: try again"}, []string{"no answer: a: openai: bad request: 2 models failed: try again"}},
		"equal":           {[]string{openai, openai}, []string{"no answer: a, b: " + openai}},
		"not called":      {[]string{openai, openai, broken}, []string{"no answer: a, b, c: " + openai}},
		"many":            {slices.Repeat([]string{key}, 16), []string{"no answer: 16 agents: " + key}},
		"offline":         {[]string{both, claude, broken}, []string{"no answer: no such host, 4 times: is this machine online? api.openai.com, api.anthropic.com could not be reached"}},
		"several": {[]string{mixed, mixed}, []string{
			"no answer: 2 agents failed, and each model that they could use:", "  openai/gpt-5-mini: " + openai, "  claude/claude-sonnet-5-5: " + key,
		}},
	} {
		var failed []report.FailedAgent
		for i, err := range test.errors {
			failed = append(failed, report.FailedAgent{Agent: string(rune('a' + i)), Error: err})
		}
		if got := reasonsOf(failed); !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}
