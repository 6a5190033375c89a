package prices_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/prices"
)

func table(t *testing.T, overrides map[string]prices.Override) *prices.Table {
	t.Helper()
	table, err := prices.New(overrides)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDate(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, prices.Date); err != nil {
		t.Error(err)
	}
}

func TestLookup(t *testing.T) {
	known := table(t, nil)
	for given, want := range map[string]string{
		"claude claude-sonnet-4-20250514":   "claude-sonnet-4",
		"claude claude-sonnet-4@20250514":   "claude-sonnet-4",
		"claude claude-sonnet-4-0":          "claude-sonnet-4",
		"claude claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
		"claude claude-opus-5-5":            "claude-opus-5-5",
		"claude claude-opus-5":              "claude-opus-5",
		"claude claude-opus":                "",
		"claude claude-opus-5-7":            "",
		"openai gpt-5-2025-08-07":           "gpt-5",
		"openai GPT-5":                      "gpt-5",
		"openai gpt-5-pro":                  "",
		"openai gpt-5-mini-high":            "",
		"openai gpt-4o-2024-05-13":          "gpt-4o-2024-05-13",
		"openai gpt-4o-2024-11-20":          "gpt-4o",
		"openai ft:gpt-4o":                  "",
		"openai gpt-5-20250":                "",
		"openai":                            "",
		"claude gpt-5":                      "",
		"nobody gpt-5":                      "",
		"azure_openai gpt-5":                "",
		"chatcompletion gpt-5":              "",
		"gemini models/gemini-2.5-flash":    "gemini-2.5-flash",
		"gemini gemini-pro-latest":          "gemini-3.1-pro-preview",
		"grok grok-4.3-latest":              "grok-4.3",
		"groq openai/gpt-oss-120b":          "openai/gpt-oss-120b",
		"together zai-org/glm-5.3":          "zai-org/GLM-5.3",
		"mistral mistral-large-latest":      "",
		"ollama llama3.2:3b":                "llama3.2:3b",
	} {
		provider, name, _ := strings.Cut(given, " ")
		m, ok := known.Lookup(provider, name)
		if m.Name != want || ok != (want != "") || ok && m.Provider != provider {
			t.Errorf("%s is %+v", given, m)
		}
	}
}

func cost(m prices.Model, u backends.Usage) float64 {
	c := m.Cost(&u)
	if c == nil {
		return math.NaN()
	}
	return math.Round(*c*1e9) / 1e9
}

func TestCost(t *testing.T) {
	known := table(t, nil)
	for name, c := range map[string]struct {
		provider, model string
		usage           backends.Usage
		want            float64
	}{
		"input and output":  {"claude", "claude-sonnet-4-6", backends.Usage{InputTokens: 1_000_000, OutputTokens: 100_000}, 3 + 1.5},
		"read and written":  {"claude", "claude-sonnet-4-6", backends.Usage{InputTokens: 100_000, CachedInputTokens: 60_000, CacheWriteTokens: 30_000}, .03 + .018 + .1125},
		"for an hour":       {"claude", "claude-sonnet-4-6", backends.Usage{InputTokens: 100_000, CachedInputTokens: 60_000, CacheWriteTokens: 30_000, CacheHourTokens: 20_000}, .03 + .018 + .0375 + .12},
		"no price of cache": {"groq", "qwen/qwen3.8-27b", backends.Usage{InputTokens: 10_000, CachedInputTokens: 10_000}, .008},
		"no price of write": {"openai", "gpt-5", backends.Usage{InputTokens: 8000, CacheWriteTokens: 8000}, .01},
		"up to the line":    {"gemini", "gemini-2.5-pro", backends.Usage{InputTokens: 200_000, OutputTokens: 1000}, .25 + .01},
		"above the line":    {"gemini", "gemini-2.5-pro", backends.Usage{InputTokens: 200_001, CachedInputTokens: 200_001, OutputTokens: 1000}, .05000025 + .015},
		"below the line":    {"grok", "grok-4.3", backends.Usage{InputTokens: 199_999, OutputTokens: 1000}, .24999875 + .0025},
		"at the line":       {"grok", "grok-4.3", backends.Usage{InputTokens: 200_000, OutputTokens: 1000}, .5 + .005},
		"more than all":     {"openai", "gpt-5", backends.Usage{InputTokens: 10, CachedInputTokens: 20}, 20 * .125e-6},
		"nothing":           {"openai", "gpt-5", backends.Usage{}, 0},
		"local":             {"llamacpp", "any", backends.Usage{InputTokens: 1e6, OutputTokens: 1e6}, 0},
	} {
		m, _ := known.Lookup(c.provider, c.model)
		if got := cost(m, c.usage); got != math.Round(c.want*1e9)/1e9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestMostCountsAnHourOfCache: a budget reserves what writing all input to a cache costs.
func TestMostCountsAnHourOfCache(t *testing.T) {
	m, _ := table(t, nil).Lookup("claude", "claude-sonnet-4-6")
	for forHour, want := range map[bool]float64{false: 3.75 + 15, true: 6 + 15} {
		if got := m.Most(1_000_000, 1_000_000, forHour); got == nil || *got != want {
			t.Errorf("for an hour %v: %v, want %v", forHour, *got, want)
		}
	}
}

// TestFeesOfSearches: models of chat completions that search in every call cost more than a search
// of other models.
func TestFeesOfSearches(t *testing.T) {
	known := table(t, nil)
	for model, want := range map[string]prices.Fee{
		"gpt-4o-search-preview":      {USD: .025, PerCall: true},
		"gpt-4o-mini-search-preview": {USD: .025, PerCall: true},
		"gpt-5-search-api":           {USD: .01},
		"gpt-4o":                     {USD: .01},
	} {
		if got, ok := known.HostedFee("openai", model, "web_search"); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
}

// TestUnknown: what is not known is not zero.
func TestUnknown(t *testing.T) {
	known := table(t, map[string]prices.Override{"chatcompletion/mine": {ContextWindow: new(8192)}})
	gpt, _ := known.Lookup("openai", "gpt-5")
	stranger, _ := known.Lookup("openai", "gpt-99")
	mine, ok := known.Lookup("chatcompletion", "mine")
	if gpt.Cost(nil) != nil || stranger.Cost(&backends.Usage{}) != nil || mine.Cost(&backends.Usage{}) != nil {
		t.Error("an unknown cost is not nil")
	}
	if !ok || mine.ContextWindow != 8192 || mine.MaxOutput != 0 {
		t.Errorf("mine is %+v", mine)
	}
}

func TestOverrides(t *testing.T) {
	changed := table(t, map[string]prices.Override{
		"openai/gpt-5.6":                  {Input: new(1.0), Output: new(2.0), CachedInput: new(.5), CacheWrite: new(3.0)},
		"claude/claude-sonnet-4-20250514": {ContextWindow: new(1_000_000)},
		"together/Own/Model":              {Input: new(1.0), Output: new(2.0), MaxOutput: new(10)},
		"ollama/metered":                  {Input: new(.1), Output: new(.2)},
	})
	sonnet, _ := table(t, nil).Lookup("claude", "claude-sonnet-4")
	sonnet.Name, sonnet.ContextWindow = "claude-sonnet-4-20250514", 1_000_000
	sol, _ := table(t, nil).Lookup("openai", "gpt-5.6")
	for given, want := range map[string]prices.Model{
		"openai gpt-5.6":                  {Provider: "openai", Name: "gpt-5.6", Rates: []prices.Rate{{Input: 1, CachedInput: .5, CacheWrite: 3, Output: 2}}, ContextWindow: 1_050_000, MaxOutput: 128_000},
		"openai gpt-5.6-sol":              sol,
		"claude claude-sonnet-4-20250514": sonnet,
		"together own/model":              {Provider: "together", Name: "Own/Model", Rates: []prices.Rate{{Input: 1, CachedInput: 1, CacheWrite: 1, Output: 2}}, MaxOutput: 10},
		"ollama metered":                  {Provider: "ollama", Name: "metered", Rates: []prices.Rate{{Input: .1, CachedInput: .1, CacheWrite: .1, Output: .2}}},
		"ollama other":                    {Provider: "ollama", Name: "other", Rates: []prices.Rate{{}}},
	} {
		provider, name, _ := strings.Cut(given, " ")
		got, _ := changed.Lookup(provider, name)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", given, diff)
		}
	}
	if other, _ := changed.Lookup("claude", "claude-sonnet-4"); other.ContextWindow != 200_000 {
		t.Errorf("another model was changed: %+v", other)
	}
}

// TestFeeOfAVersion: a fee that is stated for one version of a model holds for that version alone.
func TestFeeOfAVersion(t *testing.T) {
	changed := table(t, map[string]prices.Override{
		"openai/gpt-5":            {WebSearch: new(.1)},
		"openai/gpt-5-2025-08-07": {WebSearch: new(.2)},
	})
	for model, want := range map[string]float64{"gpt-5": .1, "gpt-5-2025-08-07": .2} {
		if fee, ok := changed.HostedFee("openai", model, "web_search"); !ok || fee.USD != want {
			t.Errorf("%s: %v, want %v", model, fee.USD, want)
		}
	}
}

func TestBadOverrides(t *testing.T) {
	for want, o := range map[string]map[string]prices.Override{
		`prices: "gpt-5" should be provider/model`:                          {"gpt-5": {}},
		`prices: "/gpt-5" should be provider/model`:                         {"/gpt-5": {}},
		`prices: "openai/" should be provider/model`:                        {"openai/": {}},
		`prices: a/b: input and output should both have a price`:            {"a/b": {Input: new(1.0)}},
		`prices: openai/gpt-5: input and output should both have a price`:   {"openai/gpt-5": {CachedInput: new(1.0)}},
		`prices: a/b: -1 is no price in US dollars per million tokens`:      {"a/b": {Input: new(1.0), Output: new(-1.0)}},
		`prices: a/b: NaN is no price in US dollars per million tokens`:     {"a/b": {Input: new(math.NaN()), Output: new(1.0)}},
		`prices: a/b: +Inf is no price in US dollars per million tokens`:    {"a/b": {Input: new(1.0), Output: new(1.0), CacheWrite: new(math.Inf(1))}},
		`prices: a/b: context_window is 0: it should be a number of tokens`: {"a/b": {ContextWindow: new(0)}},
		`prices: a/b: web_search is -1: it should be a price in US dollars`: {"a/b": {WebSearch: new(-1.0)}},
		`prices: a/b: max_output is -5: it should be a number of tokens`:    {"a/b": {MaxOutput: new(-5)}},
	} {
		if _, err := prices.New(o); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestMoreTokensCostNoLess holds for every model of which the table knows a price,
// and no part of the input costs more than the cache's dearest price.
func TestMoreTokensCostNoLess(t *testing.T) {
	known := table(t, nil)
	names := []string{"openai gpt-5", "openai gpt-6.1-sol", "claude claude-haiku-5-5", "gemini gemini-2.5-pro", "grok grok-4.7", "deepseek deepseek-v4-pro", "ollama x"}
	rapid.Check(t, func(r *rapid.T) {
		provider, name, _ := strings.Cut(rapid.SampledFrom(names).Draw(r, "model"), " ")
		m, _ := known.Lookup(provider, name)
		u := backends.Usage{InputTokens: rapid.IntRange(0, 1_000_000).Draw(r, "input"), OutputTokens: rapid.IntRange(0, 100_000).Draw(r, "output")}
		more := u
		more.InputTokens += rapid.IntRange(0, 300_000).Draw(r, "more input")
		more.OutputTokens += rapid.IntRange(0, 1000).Draw(r, "more output")
		cached := more
		cached.CachedInputTokens = rapid.IntRange(0, more.InputTokens).Draw(r, "cached")
		if cost(m, more) < cost(m, u) || cost(m, cached) > cost(m, more) {
			r.Errorf("%+v costs %v, %+v costs %v, %+v costs %v", u, cost(m, u), more, cost(m, more), cached, cost(m, cached))
		}
	})
}
