package prices

import (
	_ "embed" // the table
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
)

//go:embed hosted.csv
var builtinHosted string

const hostedColumns = "provider,models,tool,usd,per"

// Fee is what a hosted tool costs beside the tokens, in US dollars: for each use, or with PerCall
// once for a model call that uses it.
type Fee struct {
	USD     float64
	PerCall bool
}

// uses returns the cost of n uses in one model call.
func (f Fee) uses(n int) float64 {
	if f.PerCall {
		n = min(n, 1)
	}
	return f.USD * float64(n)
}

// hostedFee is a line of the table.
type hostedFee struct {
	provider string
	models   []string
	tool     string
	fee      Fee
}

// parseHosted reads the table of hosted tools.
func parseHosted(text string) ([]hostedFee, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("prices: read the table of hosted tools: %w", err)
	}
	if len(lines) == 0 || !slices.Equal(lines[0], strings.Split(hostedColumns, ",")) {
		return nil, fmt.Errorf("prices: the columns of hosted tools are not %q", hostedColumns)
	}
	var fees []hostedFee
	for _, cells := range lines[1:] {
		usd, err := strconv.ParseFloat(cells[3], 64)
		if err != nil || !isPrice(usd) || cells[4] != "use" && cells[4] != "call" {
			return nil, fmt.Errorf("prices: %s of %s: %q per %q is no price", cells[2], cells[0], cells[3], cells[4])
		}
		fees = append(fees, hostedFee{cells[0], strings.Fields(cells[1]), cells[2], Fee{usd, cells[4] == "call"}})
	}
	return fees, nil
}

// HostedFee returns what a hosted tool costs with a model, by its name in package backends; ok is
// false if the price is not known. Tools on the user's own machines cost nothing.
func (t *Table) HostedFee(provider, model, tool string) (fee Fee, ok bool) {
	if m, _ := t.Lookup(provider, model); m.Hosted != nil {
		if fee, ok = m.Hosted[tool]; ok {
			return fee, true
		}
	}
	name := strings.ToLower(strings.TrimPrefix(model, "models/"))
	for _, f := range t.hosted {
		fits := len(f.models) == 0 || slices.ContainsFunc(f.models, func(begin string) bool { return strings.HasPrefix(name, begin) })
		if f.provider == provider && f.tool == tool && fits {
			return f.fee, true
		}
	}
	return Fee{}, isLocal(provider)
}

// HostedMost returns what the hosted tools of a call cost at most, or nil if the price of one is
// unknown. Where a provider does not let a call limit their uses, it may come to more.
func (t *Table) HostedMost(provider, model string, h backends.HostedTools) *float64 {
	var sum float64
	for _, tool := range h.Names() {
		fee, ok := t.HostedFee(provider, model, tool)
		if !ok {
			return nil
		}
		sum += fee.uses(h.Uses())
	}
	return &sum
}

// hostedCost returns the cost of hosted tools in a usage, nil if a price is unknown. Fetched pages
// cost nothing.
func (t *Table) hostedCost(provider, model string, u backends.Usage) *float64 {
	var sum float64
	for _, used := range []struct {
		tool string
		n    int
	}{{backends.WebSearch, u.WebSearches}, {backends.CodeExecution, u.CodeRuns}} {
		if used.n <= 0 {
			continue
		}
		fee, ok := t.HostedFee(provider, model, used.tool)
		if !ok {
			return nil
		}
		sum += fee.uses(used.n)
	}
	return &sum
}

// Sum adds two costs in US dollars. It returns nil, unknown, if one of them is nil.
func Sum(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return dollars((*a + *b) / perMillion)
}
