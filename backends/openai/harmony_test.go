package openai

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/tests/linear"
)

// TestChannelsAreParted: the analysis of gpt-oss is reasoning and its final message the text. Calls keep their marks.
func TestChannelsAreParted(t *testing.T) {
	const (
		thought = "<|channel|>analysis<|message|>Be brief."
		call    = `<|start|>assistant<|channel|>commentary to=functions.vote <|constrain|>json<|message|>{"agent_id":"agent1"}<|call|>`
	)
	for in, want := range map[string][2]string{
		thought + "<|end|><|start|>assistant<|channel|>final<|message|>Rome.":                       {"Be brief.", "Rome."},
		thought + "<|channel|>final<|message|>Rome.<|return|>":                                      {"Be brief.", "Rome."},
		thought + "<|end|>assistant<|channel|>final<|message|>\nRome.<|end|>\n":                     {"Be brief.", "Rome."},
		"\n<|start|>assistant" + thought + "<|end|>\n\nRome.":                                       {"Be brief.", "Rome."},
		thought + "<|end|>" + thought + "<|end|><|channel|>final<|message|>Rome.":                   {"Be brief.\n\nBe brief.", "Rome."},
		"<|channel|>final<|message|>Rome.":                                                          {"", "Rome."},
		"<|channel|>final <|constrain|>json<|message|>{\"a\":1}":                                    {"", `{"a":1}`},
		"<|start|>assistant<|message|>Rome.":                                                        {"", "Rome."},
		"<|channel|>commentary<|message|>I look.<|end|>" + call:                                     {"I look.", call},
		thought + "<|end|>" + call + call:                                                           {"Be brief.", call + call},
		thought + "<|end|><|start|>functions.x to=assistant<|channel|>commentary<|message|>made up": {"Be brief.\n\nmade up", ""},
		thought + "<|end|><|start|>assist":                                                          {"Be brief.", ""},
		thought + "<|end|><|start|>assistant<|channel|>final Rome.":                                 {"Be brief.", "<|start|>assistant<|channel|>final Rome."},
		thought + "<|end":                                     {"Be brief.<|end", ""},
		"<|channel|>final Rome.":                              {"", "<|channel|>final Rome."},
		"The mark <|channel|>final<|message|> begins it.":     {"", "The mark <|channel|>final<|message|> begins it."},
		"<|channel|>final<|message|>a <|b| c<":                {"", "a <|b| c<"},
		"<|channel|>" + strings.Repeat("x", maxHeader) + " y": {"", "<|channel|>" + strings.Repeat("x", maxHeader) + " y"},
	} {
		if reasoning, text := splitAll(&tagSplitter{state: atStart}, in); reasoning != want[0] || text != want[1] {
			t.Errorf("%q gives %q %q, want %q", in, reasoning, text, want)
		}
	}
}

// TestMarksMayBeCut splits a text in any pieces, as the whole would be split.
func TestMarksMayBeCut(t *testing.T) {
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{
		"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<", "|", "<|", "final", "analysis", "assis", "tant", " to=f", " ", "\n", "a", "ü",
	}))
	rapid.Check(t, func(t *rapid.T) {
		texts := append([]string{"<|chan", "nel|>"}, pieces.Draw(t, "pieces")...)
		wantReasoning, wantText := splitAll(&tagSplitter{state: atStart}, strings.Join(texts, ""))
		reasoning, text := splitAll(&tagSplitter{state: atStart}, texts...)
		if reasoning != wantReasoning || text != wantText {
			t.Fatalf("%q gives %q %q, in one piece %q %q", texts, reasoning, text, wantReasoning, wantText)
		}
	})
}

// TestMarksTakeLinearTime reads texts of nothing but marks, whole and in pieces.
func TestMarksTakeLinearTime(t *testing.T) {
	for _, piece := range []string{"<|end|>", "<|channel|>", "<|channel|>final<|message|>", "<|", "assistant"} {
		linear.Check(t, 5000, func(n int) {
			splitAll(&tagSplitter{state: atStart}, "<|channel|>", strings.Repeat(piece, n))
			s := tagSplitter{state: atStart}
			s.split("<|channel|>")
			for range n {
				s.split(piece)
			}
		})
	}
}
