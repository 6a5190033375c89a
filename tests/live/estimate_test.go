package live

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/prices"
)

// agreed is the variable whose value "yes" agrees to the estimated cost.
const agreed = "MASSGEN_LIVE"

// estimate says what the calls of services cost by the table of prices, a line for each service.
func estimate(table *prices.Table, list []service) string {
	var out strings.Builder
	sum, unknown := 0.0, ""
	for _, s := range list {
		if s.missing != "" {
			fmt.Fprintf(&out, "live: %-9s is skipped: %s is not set\n", s.name, s.missing)
			continue
		}
		calls, usage := usesOf(s, list)
		line := fmt.Sprintf("live: %-9s %s: %d calls, %d tokens in, %d out, %d searches, %d runs of code: about ",
			s.name, s.model, calls, usage.InputTokens, usage.OutputTokens, usage.WebSearches, usage.CodeRuns)
		if cost := costOf(table, s, usage); cost != nil {
			sum += *cost
			fmt.Fprintf(&out, "%s$%.2f\n", line, *cost)
		} else {
			unknown = ", and what has no known price"
			fmt.Fprintf(&out, "%s an unknown price\n", line)
		}
	}
	if !hasMixed(list) {
		out.WriteString("live: a mixed panel is skipped: two services have to be set\n")
	}
	if !hasAuto(list) {
		out.WriteString("live: type auto is skipped: no service has a key and its own address\n")
	}
	fmt.Fprintf(&out, "live: together about $%.2f%s\n", sum, unknown)
	return out.String()
}

// usesOf sums what all tests ask of a service.
func usesOf(s service, list []service) (calls int, sum backends.Usage) {
	for _, use := range append(s.live().Uses(), s.panelUses(list)...) {
		calls += use.Calls
		sum.InputTokens += use.InputTokens
		sum.OutputTokens += use.OutputTokens
		sum.WebSearches += use.WebSearches
		sum.CodeRuns += use.CodeRuns
	}
	return calls, sum
}

// costOf is nil where a price is unknown.
func costOf(table *prices.Table, s service, usage backends.Usage) *float64 {
	if s.isOthers() {
		return nil
	}
	model, _ := table.Lookup(s.kind(), s.model)
	cost := model.Cost(&usage)
	for tool, uses := range map[string]int{backends.WebSearch: usage.WebSearches, backends.CodeExecution: usage.CodeRuns} {
		fee, known := table.HostedFee(s.kind(), s.model, tool)
		if uses > 0 && known {
			fees := fee.USD * float64(uses)
			cost = prices.Sum(cost, &fees)
		} else if uses > 0 {
			return nil
		}
	}
	return cost
}

// agree returns an error unless somebody agrees to an estimate: by the variable, or by a yes at a
// terminal, which is nil where there is none.
func agree(said string, terminal io.ReadWriter) error {
	if said == "yes" {
		return nil
	}
	if said != "" || terminal == nil {
		return fmt.Errorf("nothing was called: set %s=yes to agree to the cost", agreed)
	}
	if _, err := io.WriteString(terminal, "live: call them? Type yes: "); err != nil {
		return fmt.Errorf("ask at the terminal: %w", err)
	}
	var answer string
	if _, err := fmt.Fscanln(terminal, &answer); err != nil || answer != "yes" {
		return errors.New("nothing was called")
	}
	return nil
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func table(t *testing.T) *prices.Table {
	t.Helper()
	all, err := prices.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEstimateHasAllServices: each service has a line, with its price or with what is missing, and the
// models of all are known to the table.
func TestEstimateHasAllServices(t *testing.T) {
	none := estimate(table(t), services(environment()))
	for _, want := range []string{"claude    is skipped: ANTHROPIC_API_KEY is not set", "gemini    is skipped: GEMINI_API_KEY", "responses is skipped: OPENAI_API_KEY", "together about $0.00\n"} {
		if !strings.Contains(none, want) {
			t.Errorf("without keys, %q is not in\n%s", want, none)
		}
	}
	all := estimate(table(t), services(environment("ANTHROPIC_API_KEY", "k", "GOOGLE_API_KEY", "k", "OPENAI_API_KEY", "k")))
	if strings.Contains(all, "skipped") || strings.Contains(all, "unknown") || strings.Contains(all, "about $0.00") || strings.Count(all, "\n") != 5 {
		t.Errorf("with all keys:\n%s", all)
	}
	own := estimate(table(t), services(environment("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")))
	if !strings.Contains(own, "about  an unknown price") || !strings.Contains(own, "OPENAI_RESPONSES_MODEL is not set") {
		t.Errorf("with a server of one's own:\n%s", own)
	}
	t.Log("\n" + all)
}

// TestEstimateIsSumOfUses: tokens by the rates of the model, and each use of a hosted tool by its fee.
func TestEstimateIsSumOfUses(t *testing.T) {
	s := service{name: "claude", model: "claude-haiku-4-5"}
	got := costOf(table(t), s, backends.Usage{InputTokens: 1_000_000, OutputTokens: 100_000, WebSearches: 3, CodeRuns: 2})
	if want := 1 + 0.5 + 3*0.01 + 2*0.0042; got == nil || fmt.Sprintf("%.4f", *got) != fmt.Sprintf("%.4f", want) {
		t.Errorf("the cost is %v, want %.4f", got, want)
	}
	if got := costOf(table(t), service{name: "claude", model: "claude-unheard-of-1"}, backends.Usage{InputTokens: 1}); got != nil {
		t.Errorf("an unknown model costs $%.2f", *got)
	}
}

// TestNothingIsCalledWithoutYes: only the word yes agrees.
func TestNothingIsCalledWithoutYes(t *testing.T) {
	typed := func(text string) io.ReadWriter {
		return struct {
			io.Reader
			io.Writer
		}{strings.NewReader(text), io.Discard}
	}
	for _, c := range []struct {
		said     string
		terminal io.ReadWriter
		want     bool
	}{
		{"yes", nil, true},
		{"", nil, false},
		{"1", typed("yes\n"), false},
		{"", typed("yes\n"), true},
		{"", typed("y\n"), false},
		{"", typed("\n"), false},
		{"", typed(""), false},
	} {
		if err := agree(c.said, c.terminal); (err == nil) != c.want {
			t.Errorf("%q: %v", c.said, err)
		}
	}
}
