package debugbackend

import (
	"fmt"
	"io"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Diff writes how the input of b differs from that of a, line by line: model,
// system messages, user messages, what models and tools said, tools, the schema of
// the reply, parameters. Lines of a begin with "-", those of b with "+". Long runs
// of equal lines are left out.
func Diff(w io.Writer, a, b Call) error {
	return DiffRequests(w, a.title(), b.title(), a.Request, b.Request)
}

// DiffRequests is Diff for two requests. The titles name them.
func DiffRequests(w io.Writer, title, otherTitle string, a, b backends.Request) error {
	before, after := inputParts(a), inputParts(b)
	parts := make([]partDiff, len(before))
	for i := range before {
		parts[i] = partDiff{before[i].name, before[i].text, after[i].text}
	}
	return writeDiff(w, title, otherTitle, parts)
}

// DiffTexts writes how the text b differs from a, in the form of Diff. name says what they are.
func DiffTexts(w io.Writer, title, otherTitle, name, a, b string) error {
	return writeDiff(w, title, otherTitle, []partDiff{{name, a, b}})
}

// partDiff is a part of two inputs.
type partDiff struct{ name, before, after string }

func writeDiff(w io.Writer, title, otherTitle string, parts []partDiff) error {
	var out strings.Builder
	fmt.Fprintf(&out, "- %s\n+ %s\n", title, otherTitle)
	for _, p := range parts {
		writePartDiff(&out, p.name, splitLines(p.before), splitLines(p.after))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print the difference of inputs: %w", err)
	}
	return nil
}

type inputPart struct{ name, text string }

// inputParts returns the parts of an input, the same list for every input.
func inputParts(req backends.Request) []inputPart {
	var system, user, other strings.Builder
	for _, m := range req.Messages {
		switch m.Role {
		case backends.RoleSystem:
			system.WriteString(messageLines(m))
		case backends.RoleUser:
			user.WriteString(messageLines(m))
		default:
			other.WriteString(messageLines(m))
		}
	}
	return []inputPart{
		{"model", req.Model + "\n"},
		{"system", system.String()},
		{"user", user.String()},
		{"models and tools", other.String()},
		{"tools", toolLines(req.Tools)},
		{"schema of the reply", schemaLines(req.Schema)},
		{"parameters", paramLines(req.Params)},
	}
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// line is a line of a diff; sign is ' ', '-' or '+'.
type line struct {
	sign byte
	text string
}

func writePartDiff(out *strings.Builder, name string, a, b []string) {
	lines := diffLines(a, b)
	added, removed := 0, 0
	for _, l := range lines {
		switch l.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	if added+removed == 0 {
		fmt.Fprintf(out, "\n%s: equal (%s)\n", name, counted(len(a), "line"))
		return
	}
	fmt.Fprintf(out, "\n%s: %s removed, %d added\n", name, counted(removed, "line"), added)
	writeHunks(out, lines)
}

// writeHunks writes the changed lines with up to two equal lines around them.
func writeHunks(out *strings.Builder, lines []line) {
	const around = 2
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.sign == ' ' {
			continue
		}
		for j := max(i-around, 0); j <= min(i+around, len(lines)-1); j++ {
			near[j] = true
		}
	}
	for i := 0; i < len(lines); i++ {
		if near[i] {
			fmt.Fprintf(out, "%c %s\n", lines[i].sign, visible(lines[i].text))
			continue
		}
		from := i
		for i+1 < len(lines) && !near[i+1] {
			i++
		}
		fmt.Fprintf(out, "  (%s left out)\n", counted(i-from+1, "equal line"))
	}
}

// diffLines returns a shortest edit from a to b, by their longest common subsequence. If that would take
// too much memory, it replaces all lines between the equal ones at both ends.
func diffLines(a, b []string) []line {
	head := commonPrefix(a, b)
	tail := commonSuffix(a[head:], b[head:])
	lines := signed(nil, ' ', a[:head])
	lines = append(lines, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	return signed(lines, ' ', a[len(a)-tail:])
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func signed(lines []line, sign byte, texts []string) []line {
	for _, text := range texts {
		lines = append(lines, line{sign, text})
	}
	return lines
}

func diffMiddle(a, b []string) []line {
	const mostCells = 4_000_000
	if len(a)*len(b) > mostCells {
		return signed(signed(nil, '-', a), '+', b)
	}
	lengths := commonLengths(a, b)
	var lines []line
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines = append(lines, line{' ', a[i]})
			i, j = i+1, j+1
		case lengths[i+1][j] >= lengths[i][j+1]:
			lines = append(lines, line{'-', a[i]})
			i++
		default:
			lines = append(lines, line{'+', b[j]})
			j++
		}
	}
	return signed(signed(lines, '-', a[i:]), '+', b[j:])
}

// commonLengths returns, for each i and j, the length of the longest common subsequence of a[i:] and
// b[j:].
func commonLengths(a, b []string) [][]int {
	lengths := make([][]int, len(a)+1)
	for i := range lengths {
		lengths[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				lengths[i][j] = lengths[i+1][j+1] + 1
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	return lengths
}
