package debugbackend

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// Table writes, for each agent, the two tables of seed 003 over the first call of
// each of its turns: the sizes of the input in characters with their growth
// against the agent's first turn, in percent rounded half up, and the sections
// that the input has. The calls are sorted as Recorder.Calls and LoadDir sort
// them.
func Table(w io.Writer, calls []Call) error {
	labels := rowLabels{[]string{"turn"}, func(c Call) []string {
		return []string{strconv.Itoa(c.Request.Key.Turn)}
	}}
	return writeTables(w, groupCalls(calls, true), labels)
}

// CallTable is Table with a row for every call.
func CallTable(w io.Writer, calls []Call) error {
	labels := rowLabels{[]string{"turn", "call", "round", "purpose"}, func(c Call) []string {
		k := c.Request.Key
		return []string{strconv.Itoa(k.Turn), strconv.Itoa(c.Number), strconv.Itoa(k.Round), fmt.Sprintf("%s %d", visible(k.Purpose), k.Index)}
	}}
	return writeTables(w, groupCalls(calls, false), labels)
}

// rowLabels has the first columns of a table, which identify the call of a row.
type rowLabels struct {
	names []string
	of    func(Call) []string
}

// series has the calls of one agent in a session, or of one purpose without an agent.
type series struct {
	seriesKey
	calls []Call
}

type seriesKey struct{ session, agent, purpose string }

// groupCalls groups the calls into series: sessions in the order of their beginnings, and the agents of
// each by their ids, whichever began first. Calls of no agent come last. firstOnly keeps the first call
// of each turn.
func groupCalls(calls []Call, firstOnly bool) []series {
	groups := map[seriesKey][]Call{}
	begun := map[string]int{} // sessions
	for _, c := range calls {
		k := c.Request.Key
		if _, known := begun[k.Session]; !known {
			begun[k.Session] = len(begun)
		}
		key := seriesKey{session: k.Session, agent: k.Agent}
		if k.Agent == "" {
			key.purpose = k.Purpose
		}
		group := groups[key]
		if firstOnly && len(group) > 0 && group[len(group)-1].Request.Key.Turn == k.Turn {
			continue
		}
		groups[key] = append(group, c)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b seriesKey) int {
		return cmp.Or(
			cmp.Compare(begun[a.session], begun[b.session]),
			strings.Compare(a.purpose, b.purpose), // agents have none here
			strings.Compare(plain.SortKey(a.agent), plain.SortKey(b.agent)),
		)
	})
	var all []series
	for _, key := range keys {
		all = append(all, series{key, groups[key]})
	}
	return all
}

func (s series) title() string {
	title := "agent " + s.agent
	if s.agent == "" {
		title = "no agent, " + s.purpose
	}
	if s.session != "" {
		title += ", session " + s.session
	}
	return visible(title)
}

func writeTables(w io.Writer, all []series, labels rowLabels) error {
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n\n%s\n%s", s.title(), plain.Columns(sizeRows(s.calls, labels)), plain.Columns(elementRows(s.calls, labels)))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the tables of inputs: %w", err)
	}
	return nil
}

// sizeRows returns the table of sizes. It has a column for models and tools only if they said anything.
func sizeRows(calls []Call, labels rowLabels) [][]string {
	base := calls[0]
	other := false
	for _, c := range calls {
		other = other || c.Chars.Other > 0
	}
	columns := []string{"system", "user"}
	if other {
		columns = append(columns, "models and tools")
	}
	rows := [][]string{row(labels.names, append(columns, "total", fmt.Sprintf("growth since turn %d", base.Request.Key.Turn))...)}
	for i, c := range calls {
		cells := []string{sized(c.Chars.System, base.Chars.System), sized(c.Chars.User, base.Chars.User)}
		if other {
			cells = append(cells, sized(c.Chars.Other, base.Chars.Other))
		}
		growth := ""
		if i > 0 {
			growth = percent(c.Chars.Total, base.Chars.Total)
		}
		rows = append(rows, row(labels.of(c), append(cells, plain.Thousands(c.Chars.Total), growth)...))
	}
	return rows
}

func row(first []string, rest ...string) []string {
	return append(append([]string{}, first...), rest...)
}

// sized returns a number of characters, with its growth if it has changed.
func sized(n, base int) string {
	if n == base || base == 0 {
		return plain.Thousands(n)
	}
	return fmt.Sprintf("%s (%s)", plain.Thousands(n), percent(n, base))
}

// percent returns the growth from base to n, rounded half up: "+48 %".
func percent(n, base int) string {
	if base == 0 {
		return "-"
	}
	twice := 200*(n-base) + base
	rounded := twice / (2 * base)
	if twice%(2*base) < 0 {
		rounded-- // division cuts towards zero
	}
	if rounded < 0 {
		return fmt.Sprintf("-%s %%", plain.Thousands(-rounded))
	}
	return fmt.Sprintf("+%s %%", plain.Thousands(rounded))
}

func elementRows(calls []Call, labels rowLabels) [][]string {
	rows := [][]string{row(labels.names, "CONVERSATION_HISTORY", "ORIGINAL MESSAGE", "CURRENT ANSWERS", "context-aware system")}
	for _, c := range calls {
		s := readSections(c.Request.Messages)
		rows = append(rows, row(labels.of(c), s.history(), yesNo(s.coordination), s.currentAnswers(), yesNo(s.contextAware)))
	}
	return rows
}

func (s sections) history() string {
	switch {
	case s.exchanges == 0:
		return "no"
	case !s.coordination:
		return fmt.Sprintf("as messages (%s)", counted(s.exchanges, "exchange"))
	}
	return fmt.Sprintf("yes (%s)", counted(s.exchanges, "exchange"))
}

func (s sections) currentAnswers() string {
	switch {
	case !s.hasAnswers:
		return "no"
	case len(s.answers) == 0:
		return "yes (empty)"
	}
	return fmt.Sprintf("yes (%s)", counted(len(s.answers), "agent"))
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
