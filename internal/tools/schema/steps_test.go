package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/tools/schema"
)

// chain is a schema whose definitions each refer to the next one, by a part that names it n times.
func chain(length int, part func(ref string) string) string {
	var defs strings.Builder
	for i := range length {
		fmt.Fprintf(&defs, `"d%d":%s,`, i, part(fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	return fmt.Sprintf(`{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{%s"d%d":{"type":"object"}}}`, defs.String(), length)
}

func TestSchemasThatNoAnswerCanBeCheckedAgainst(t *testing.T) {
	t.Parallel()
	nested := func(open string, n int) string {
		return `{"type":"object","properties":{"a":` + strings.Repeat(open, n) + `{}` + strings.Repeat("}", n) + `}}`
	}
	for name, test := range map[string]struct{ text, want string }{
		"twice in allOf":        {chain(40, func(r string) string { return `{"allOf":[` + r + `,` + r + `]}` }), "more than 5000000 steps"},
		"twice in anyOf":        {chain(40, func(r string) string { return `{"anyOf":[` + r + `,` + r + `]}` }), "more than 5000000 steps"},
		"if and else":           {chain(40, func(r string) string { return `{"if":` + r + `,"else":` + r + `}` }), "more than 5000000 steps"},
		"in one definition":     {`{"type":"object","properties":{"a":` + strings.TrimSuffix(chain(40, func(r string) string { return `{"oneOf":[` + r + `,{"not":` + r + `}]}` }), "}") + `}},"$defs":{}}`, "leads to no definition"},
		"unused definition":     {strings.Replace(chain(40, func(r string) string { return `{"allOf":[` + r + `,` + r + `]}` }), `"allOf":[{"$ref":"#/$defs/d0"}],`, "", 1), "more than 5000000 steps"},
		"a long chain":          {chain(1100, func(r string) string { return r }), "schemas within each other"},
		"deep":                  {nested(`{"not":`, 7000), "nested too deep"},
		"deep items":            {nested(`{"items":`, 200), "nested too deep"},
		"a large pattern":       {`{"type":"object","properties":{"a":{"pattern":"(?:[ab]{99}c){999}"}}}`, "invalid repeat"},
		"patterns together":     {`{"type":"object","properties":{"a":{"pattern":"(?:aaaaaaaaab){900}"},"b":{"pattern":"(?:aaaaaaaaab){900}"}}}`, "instructions with their repetitions"},
		"patterns of the names": {`{"type":"object","patternProperties":{"(?:aaaaaaaaaaaaaab){900}":{}}}`, "instructions with their repetitions"},
	} {
		begun := time.Now()
		_, err := schema.Parse([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%s: to refuse it took %v", name, took)
		}
	}
}

func TestAnswersThatTakeTooManySteps(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	long := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("x", 100)+`",`, 5000), ",") + `]}`
	names := strings.Repeat(`"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",`, 900)
	for name, test := range map[string]struct{ schema, answer string }{
		"twice for each level": {`{"type":"object","$ref":"#/$defs/n","$defs":{"n":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}}}`, deep},
		"patterns":             {`{"type":"object","properties":{"a":{"items":{"pattern":"(?:[xy]?[xz]?y?){900}q"}}}}`, long},
		"enums in errors":      {`{"type":"object","properties":{"a":{"contains":{"enum":[` + strings.TrimSuffix(names, ",") + `]}}}}`, long},
		"the value in errors":  {`{"type":"object","anyOf":[` + strings.Repeat(`{"type":"null"},`, 200) + `{}]}`, long},
	} {
		answers, err := schema.Parse([]byte(test.schema))
		if err != nil {
			t.Fatal(name, err)
		}
		begun := time.Now()
		_, problem, err := answers.InText(t.Context(), test.answer)
		if err != nil || !strings.Contains(problem, "more than 5000000 steps") {
			t.Errorf("%s: %.300q, %v", name, problem, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func TestOrdinaryAnswersAreChecked(t *testing.T) {
	t.Parallel()
	tree := `{"type":"object","$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},"required":["v"],"additionalProperties":false}}}`
	rows := strings.TrimSuffix(strings.Repeat(`{"id":12,"name":"some name of a row","tags":["a","b"]},`, 5000), ",")
	list := `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string","pattern":"^[a-z ]{1,80}$"},"tags":{"items":{"enum":["a","b","c"]}}}}}}}`
	for name, test := range map[string]struct{ schema, answer string }{
		"a list of 100": {tree, strings.Repeat(`{"v":1,"next":`, 100) + `{"v":2,"next":null}` + strings.Repeat("}", 100)},
		"5,000 rows":    {list, `{"rows":[` + rows + `]}`},
	} {
		answers, err := schema.Parse([]byte(test.schema))
		if err != nil {
			t.Fatal(name, err)
		}
		answer, problem, err := answers.InText(t.Context(), test.answer)
		if answer != test.answer || problem != "" || err != nil {
			t.Errorf("%s: %.300q, %v", name, problem, err)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	answers, err := schema.Parse([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := answers.InText(ctx, `{}`); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
