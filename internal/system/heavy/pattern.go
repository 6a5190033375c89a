package heavy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MostInstructions is the size of the largest pattern, in instructions of its compiled form. To match a
// text takes up to so many steps a letter.
const MostInstructions = 10_000

// Pattern compiles a regular expression that may come from a stranger. It refuses one that is too large
// with its repetitions written out, before it compiles the pattern.
func Pattern(expr string) (*regexp.Regexp, error) {
	size, err := PatternSize(expr)
	if err != nil {
		return nil, err
	}
	if size > MostInstructions {
		return nil, fmt.Errorf("with its repetitions written out it has %d instructions, and the most is %d: repeat less", size, MostInstructions)
	}
	return regexp.Compile(expr)
}

// PatternSize returns about how many instructions a regular expression has, without compiling it.
func PatternSize(expr string) (int, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(parsed), nil
}

func instructions(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}
