package prices

import (
	_ "embed" // the table
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed prices.csv
var builtin string

// columns is the first line of a table.
const columns = "provider,model,aliases,above,input,cached_input,cache_write,output,context_window,max_output"

// parse reads a table. An error names the line and the column.
func parse(text string) (*Table, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("prices: read the table: %w", err)
	}
	if !slices.Equal(header, strings.Split(columns, ",")) {
		return nil, fmt.Errorf("prices: the columns are %q, not %q", strings.Join(header, ","), columns)
	}
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("prices: read the table: %w", err)
	}
	t := &Table{models: make(map[string]Model, len(lines)), aliases: map[string]string{}}
	for _, cells := range lines {
		l := line{cells: cells}
		t.add(&l)
		if l.err != nil {
			return nil, fmt.Errorf("prices: %s/%s: %w", cells[0], cells[1], l.err)
		}
	}
	return t, nil
}

// line is one line of the table, and the first error in it.
type line struct {
	cells []string
	err   error
}

func (l *line) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// add adds a model, or a rate for long calls to the model that stands before it.
func (t *Table) add(l *line) {
	provider, name, above := l.cells[0], l.cells[1], l.int(3)
	rate := Rate{Above: above, Input: l.price(4, 0), Output: l.price(7, 0)}
	rate.CachedInput, rate.CacheWrite = l.price(5, rate.Input), l.price(6, rate.Input)
	k := key(provider, name)
	m, known := t.models[k]
	switch {
	case above == 0 && (known || t.aliases[k] != ""):
		l.fail("it is there twice")
	case above == 0:
		m = Model{Provider: provider, Name: name, ContextWindow: l.int(8), MaxOutput: l.int(9)}
	case !known || above <= m.Rates[len(m.Rates)-1].Above:
		l.fail("its line for more than %d tokens does not follow one for less", above)
		return
	}
	m.Rates = append(m.Rates, rate)
	t.models[k] = m
	for alias := range strings.FieldsSeq(l.cells[2]) {
		a := key(provider, alias)
		if _, taken := t.models[a]; taken || t.aliases[a] != "" {
			l.fail("its alias %s is there twice", alias)
		}
		t.aliases[a] = k
	}
}

// int reads a number of tokens; an empty cell is 0.
func (l *line) int(column int) int {
	if l.cells[column] == "" {
		return 0
	}
	n, err := strconv.Atoi(l.cells[column])
	if err != nil || n <= 0 {
		l.fail("%q is no number of tokens", l.cells[column])
	}
	return n
}

// price reads a price, which is another one where the cell is empty; input and
// output have no other.
func (l *line) price(column int, other float64) float64 {
	if l.cells[column] == "" && column != 4 && column != 7 {
		return other
	}
	p, err := strconv.ParseFloat(l.cells[column], 64)
	if err != nil || !isPrice(p) {
		l.fail("%q is no price", l.cells[column])
	}
	return p
}
