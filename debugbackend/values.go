package debugbackend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// kind is the type of a value in a template, in the words of an error.
type kind string

// The kinds of values, with their types in Go.
const (
	kindText    kind = "a text"            // string
	kindNumber  kind = "a number"          // int
	kindTruth   kind = "true or false"     // bool
	kindAnswer  kind = "an answer"         // Answer
	kindAnswers kind = "a list of answers" // []Answer
	kindFacts   kind = "all facts"         // facts
)

// value is an expression in a template: its kind is known when the template is read, and of
// returns what it is in a scope.
type value struct {
	kind kind
	of   func(scope) (any, error)
}

func constant(k kind, x any) value {
	return value{k, func(scope) (any, error) { return x, nil }}
}

func dotValue(k kind) value {
	return value{k, func(s scope) (any, error) { return s.dot, nil }}
}

// isTrue reports whether a value is not zero and not empty.
func isTrue(x any) bool {
	switch x := x.(type) {
	case string:
		return x != ""
	case int:
		return x != 0
	case bool:
		return x
	case []Answer:
		return len(x) > 0
	}
	return true
}

type field struct {
	kind kind
	of   func(any) any
}

func fieldsOf(k kind) map[string]field {
	switch k {
	case kindFacts:
		return map[string]field{
			"Question": {kindText, func(x any) any { return x.(facts).Question }},
			"Turn":     {kindNumber, func(x any) any { return x.(facts).Turn }},
			"Round":    {kindNumber, func(x any) any { return x.(facts).Round }},
			"Agent":    {kindText, func(x any) any { return x.(facts).Agent }},
			"Answers":  {kindAnswers, func(x any) any { return x.(facts).Answers }},
		}
	case kindAnswer:
		return map[string]field{
			"ID":   {kindText, func(x any) any { return x.(Answer).ID }},
			"Text": {kindText, func(x any) any { return x.(Answer).Text }},
		}
	}
	return nil
}

// readFields reads the first name as a field of the value, the next one as a field of that, and
// so on.
func readFields(v value, names []string) (value, error) {
	for _, name := range names {
		fields := fieldsOf(v.kind)
		f, ok := fields[name]
		switch {
		case len(fields) == 0:
			return value{}, fmt.Errorf("no field .%s: %s has no fields", inError(name), v.kind)
		case !ok:
			return value{}, fmt.Errorf("no field .%s: there are .%s", inError(name), strings.Join(slices.Sorted(maps.Keys(fields)), ", ."))
		}
		v = computed(f.kind, []value{v}, func(x []any) (any, error) { return f.of(x[0]), nil })
	}
	return v, nil
}

// computed returns the value that a function has for arguments.
func computed(k kind, arguments []value, function func([]any) (any, error)) value {
	return value{k, func(s scope) (any, error) {
		given := make([]any, len(arguments))
		for i, v := range arguments {
			x, err := v.of(s)
			if err != nil {
				return nil, err
			}
			given[i] = x
		}
		return function(given)
	}}
}

// function is a function of templates.
type function struct {
	// takes says what arguments the function takes.
	takes string
	// call returns the value of a call, false if the function does not take the arguments.
	call func([]value) (value, bool)
}

func functions() map[string]function {
	return map[string]function{
		"and":    {"values of one kind", func(v []value) (value, bool) { return firstThatIs(false, v) }},
		"or":     {"values of one kind", func(v []value) (value, bool) { return firstThatIs(true, v) }},
		"not":    {"one value", callNot},
		"eq":     {"two or more texts, or numbers", func(v []value) (value, bool) { return compare(true, v) }},
		"ne":     {"two texts, or two numbers", func(v []value) (value, bool) { return compare(false, v) }},
		"len":    {"a text or a list of answers", callLen},
		"index":  {"a list of answers and a number", callIndex},
		"short":  {"a text", callShort},
		"oneof":  {"a text and the texts to choose from", callOneof},
		"printf": {"a text and values for its verbs", callPrintf},
	}
}

func readFunction(name string, arguments []value) (value, error) {
	all := functions()
	f, ok := all[name]
	if !ok {
		return value{}, fmt.Errorf("no function %s: there are %s", inError(name), strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	v, ok := f.call(arguments)
	if !ok {
		return v, fmt.Errorf("%s takes %s", name, f.takes)
	}
	return v, nil
}

// areAll reports whether all values are of a kind.
func areAll(k kind, values []value) bool {
	return !slices.ContainsFunc(values, func(v value) bool { return v.kind != k })
}

// firstThatIs returns the first value with a truth, or the last value if there is none. It does not
// compute the values after that.
func firstThatIs(truth bool, values []value) (value, bool) {
	if len(values) == 0 || !areAll(values[0].kind, values) {
		return value{}, false
	}
	return value{values[0].kind, func(s scope) (x any, err error) {
		for _, v := range values {
			if x, err = v.of(s); err != nil || isTrue(x) == truth {
				break
			}
		}
		return x, err
	}}, true
}

func callNot(values []value) (value, bool) {
	return computed(kindTruth, values, func(x []any) (any, error) { return !isTrue(x[0]), nil }), len(values) == 1
}

// compare returns whether the first value is one of the others, or whether it is not if isEqual is
// false.
func compare(isEqual bool, values []value) (value, bool) {
	if len(values) < 2 || !isEqual && len(values) > 2 || !areAll(values[0].kind, values) || !slices.Contains([]kind{kindText, kindNumber, kindTruth}, values[0].kind) {
		return value{}, false
	}
	return computed(kindTruth, values, func(x []any) (any, error) { return slices.Contains(x[1:], x[0]) == isEqual, nil }), true
}

func callLen(values []value) (value, bool) {
	isTaken := len(values) == 1 && (values[0].kind == kindText || values[0].kind == kindAnswers)
	return computed(kindNumber, values, func(x []any) (any, error) {
		if text, ok := x[0].(string); ok {
			return len(text), nil
		}
		return len(x[0].([]Answer)), nil
	}), isTaken
}

func callIndex(values []value) (value, bool) {
	isTaken := len(values) == 2 && values[0].kind == kindAnswers && values[1].kind == kindNumber
	return computed(kindAnswer, values, func(x []any) (any, error) {
		answers, i := x[0].([]Answer), x[1].(int)
		if i < 0 || i >= len(answers) {
			return nil, fmt.Errorf("index %d of %s: the first one is 0", i, plain.Count(len(answers), "answer"))
		}
		return answers[i], nil
	}), isTaken
}

func callShort(values []value) (value, bool) {
	return computed(kindText, values, func(x []any) (any, error) { return short(x[0].(string)), nil }), len(values) == 1 && areAll(kindText, values)
}

func callOneof(values []value) (value, bool) {
	return computed(kindText, values, func(x []any) (any, error) {
		choices := make([]string, len(x)-1)
		for i := range choices {
			choices[i] = x[i+1].(string)
		}
		return oneof(x[0].(string), choices...), nil
	}), len(values) >= 2 && areAll(kindText, values)
}

func callPrintf(values []value) (value, bool) {
	return computed(kindText, values, func(x []any) (any, error) { return fmt.Sprintf(x[0].(string), x[1:]...), nil }), len(values) > 0 && values[0].kind == kindText
}
