package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// The ways to score an answer.
const (
	exactScore    = "exact"
	numberScore   = "number"
	choiceScore   = "choice"
	containsScore = "contains"
	patternScore  = "pattern"
	jsonScore     = "json"
	commandScore  = "command"
	graderScore   = "grader"
)

func scores() []string {
	return []string{exactScore, numberScore, choiceScore, containsScore, patternScore, jsonScore, commandScore, graderScore}
}

// scorer says whether answers are right.
type scorer struct {
	name, argument string
	tolerance      float64
	pattern        *regexp.Regexp // of values, nil for none
	// judge runs the command, or asks the grader; nil for the other ways.
	judge func(ctx context.Context, q question, answer string) (bool, error)
	// known has the scores of answers: several columns give the same ones.
	known map[[2]string]bool
}

// newScorer returns the scorer of the flags --score and --answer-pattern. It does not connect a grader.
func newScorer(text, pattern string) (*scorer, error) {
	s := &scorer{known: map[[2]string]bool{}}
	s.name, s.argument, _ = strings.Cut(text, ":")
	if !slices.Contains(scores(), s.name) {
		return nil, fmt.Errorf("--score: there is no %q; it is one of %s", plain.Line(s.name), strings.Join(scores(), ", "))
	}
	var err error
	switch s.name {
	case numberScore:
		if s.argument != "" {
			if s.tolerance, err = strconv.ParseFloat(s.argument, 64); err != nil || !(s.tolerance >= 0) {
				return nil, fmt.Errorf("--score: the tolerance %q is no number from 0 on: write number:0.01", plain.Line(s.argument))
			}
		}
	case commandScore:
		if s.argument == "" {
			return nil, errors.New("--score: the command is missing: write command:CMD")
		}
	case graderScore:
		if s.argument == "" {
			return nil, errors.New("--score: the grader's model is missing: write grader:TYPE/MODEL")
		}
	default:
		if s.argument != "" {
			return nil, fmt.Errorf("--score: %s takes no argument: leave out what follows the colon", s.name)
		}
	}
	if pattern != "" {
		if s.pattern, err = regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("--answer-pattern: %w", err)
		}
	}
	return s, nil
}

// check returns an error for a question that cannot be scored.
func (s *scorer) check(q question) error {
	switch {
	case s.name == commandScore || s.name == graderScore:
		return nil
	case q.Expected == "":
		return errors.New("it has no right answer: give it expected")
	case s.name == numberScore:
		if _, ok := number(q.Expected); !ok {
			return errors.New("its right answer is no number: score it by another --score")
		}
	case s.name == choiceScore:
		if _, ok := choice(q.Expected); !ok {
			return errors.New("its right answer is no letter: score it by another --score")
		}
	case s.name == patternScore:
		if _, err := regexp.Compile(q.Expected); err != nil {
			return fmt.Errorf("its right answer is no regular expression: %w", err)
		}
	case s.name == jsonScore && !json.Valid([]byte(q.Expected)):
		return errors.New("its right answer is no JSON: score it by another --score")
	}
	return nil
}

// isRight reports whether an answer is right.
func (s *scorer) isRight(ctx context.Context, q question, answer string) (right bool, err error) {
	key := [2]string{q.Hash, answer}
	if right, ok := s.known[key]; ok {
		return right, nil
	}
	switch {
	case s.judge != nil:
		right, err = s.judge(ctx, q, answer)
	default:
		right = s.compare(q.Expected, answer)
	}
	if err == nil {
		s.known[key] = right
	}
	return right, err
}

// isExact reports whether an answer is right by its text. ok is false if answers are scored so anyway, or if
// no text is expected.
func (s *scorer) isExact(q question, answer string) (right, ok bool) {
	if s.name != graderScore || q.Expected == "" {
		return false, false
	}
	exact := scorer{name: exactScore, pattern: s.pattern}
	return exact.compare(q.Expected, answer), true
}

// compare compares an answer with the expected one.
func (s *scorer) compare(expected, answer string) bool {
	switch s.name {
	case containsScore:
		return strings.Contains(strings.ToLower(answer), strings.ToLower(strings.TrimSpace(expected)))
	case patternScore:
		re, err := regexp.Compile(expected)
		return err == nil && re.MatchString(answer)
	case jsonScore:
		return equalJSON(expected, answer)
	}
	value, ok := s.matched(answer)
	if !ok {
		return false
	}
	switch s.name {
	case numberScore:
		got, ok := number(value)
		want, alsoOK := number(expected)
		return ok && alsoOK && math.Abs(got-want) <= s.tolerance*(1+1e-12)
	case choiceScore:
		got, ok := choice(value)
		want, alsoOK := choice(expected)
		return ok && alsoOK && got == want
	}
	return strings.TrimSpace(value) == strings.TrimSpace(expected)
}

// matched returns the value of an answer: the last match of the pattern, or its first group. Without a
// pattern the answer is the value.
func (s *scorer) matched(answer string) (value string, ok bool) {
	if s.pattern == nil {
		return answer, true
	}
	all := s.pattern.FindAllStringSubmatch(answer, -1)
	if len(all) == 0 {
		return "", false
	}
	last := all[len(all)-1]
	return strings.TrimSpace(last[min(1, len(last)-1)]), true
}

// value returns what samples are counted by: equal values are one answer.
func (s *scorer) value(answer string) string {
	value, ok := s.matched(answer)
	if !ok {
		return answer
	}
	switch s.name {
	case numberScore:
		if x, ok := number(value); ok {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
	case choiceScore:
		if letter, ok := choice(value); ok {
			return letter
		}
	}
	return strings.TrimSpace(value)
}

var (
	numberPattern = regexp.MustCompile(`[-+−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?`)
	onlyChoice    = regexp.MustCompile(`^[\s(\["'*]*([A-Za-z])[\s)\]"'*.:]*$`)
	firstChoice   = regexp.MustCompile(`^[\s(\["'*]*([A-Za-z])[)\].:]`)
	namedChoice   = regexp.MustCompile(`(?i)\b(?:answer|option|choice)\b(?:\s+is\b)?[\s:(\["'*]*([A-Za-z])\b`)
)

// number returns the last number of a text. Thousands may be separated by commas.
func number(text string) (x float64, ok bool) {
	all := numberPattern.FindAllString(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	last := strings.NewReplacer(",", "", "−", "-").Replace(all[len(all)-1])
	x, err := strconv.ParseFloat(last, 64)
	return x, err == nil
}

// choice returns the letter that a text chooses: the only one, the one that the text begins with as in
// "B) Paris", or the last one that it names as in "the answer is B".
func choice(text string) (letter string, ok bool) {
	for _, pattern := range []*regexp.Regexp{onlyChoice, firstChoice} {
		if found := pattern.FindStringSubmatch(text); found != nil {
			return strings.ToUpper(found[1]), true
		}
	}
	all := namedChoice.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "", false
	}
	return strings.ToUpper(all[len(all)-1][1]), true
}

// equalJSON compares two values of JSON. The second may stand in a fenced block of Markdown.
func equalJSON(expected, answer string) bool {
	answer = strings.TrimSpace(answer)
	if rest, isFenced := strings.CutPrefix(answer, "```"); isFenced {
		_, rest, _ = strings.Cut(rest, "\n")
		answer, _, _ = strings.Cut(rest, "```")
	}
	var want, got any
	if json.Unmarshal([]byte(expected), &want) != nil || json.Unmarshal([]byte(answer), &got) != nil {
		return false
	}
	return reflect.DeepEqual(want, got)
}
