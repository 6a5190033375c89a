package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/massgen/massgen/internal/system/heavy"
)

// The limits of checking one answer. A step takes a tenth of a microsecond or so. The checker takes no
// context and counts nothing, so the steps are counted before it runs. The count depends on the schema and
// the answer alone, so a replay comes to the same verdict.
const (
	mostSteps  = 5_000_000
	mostNested = 1024 // schemas within each other, where a reference counts like its target
	fewSteps   = 20_000
)

// mostDepth is how deep the JSON of a schema is nested: reading takes time in proportion to size and depth.
const mostDepth = 128

var errTooDeep = errors.New("it is nested too deep")

// CheckDepth returns an error for JSON that is nested more than mostDepth levels deep. A schema of a
// stranger needs the check before anything decodes it.
func CheckDepth(data []byte) error {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > mostDepth {
				return fmt.Errorf("%w: the most is %d levels", errTooDeep, mostDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// perMember is how many other parts take the time of one member of an object: an error lists the members in
// their order.
const perMember = 8

// value is a part of an answer, with its size in parts.
type value struct {
	size    int
	text    string
	items   []*value
	members map[string]*value
}

func newValue(decoded any) *value {
	v := &value{size: 1}
	add := func(part any) *value {
		sub := newValue(part)
		v.size += sub.size
		return sub
	}
	switch decoded := decoded.(type) {
	case string:
		v.text, v.size = decoded, 1+len(decoded)/16
	case []any:
		for _, item := range decoded {
			v.items = append(v.items, add(item))
		}
	case map[string]any:
		v.members = make(map[string]*value, len(decoded))
		for name, member := range decoded {
			v.members[name] = add(member)
			v.size += perMember + len(name)/16
		}
	}
	return v
}

// counter counts the steps that the checker may need for an answer. It visits each pair of a schema and a
// value once, so it needs at most as many steps as it counts.
type counter struct {
	ctx     context.Context
	root    *jsonschema.Schema
	of      *costs
	known   map[pair]count
	visited int
}

type pair struct {
	schema *jsonschema.Schema
	value  *value
}

// count is a number of steps, the length of the errors from them, and how deep the schemas are nested.
type count struct{ steps, errors, depth int }

func (c *count) add(sub count) {
	c.steps += sub.steps
	c.errors += sub.errors
	c.depth = max(c.depth, sub.depth+1)
}

var errTooManySteps = fmt.Errorf("checking it takes more than %d steps, or leads through more than %d schemas within each other: refer to fewer schemas for the same value", mostSteps, mostNested)

// check counts the steps of a value. Its error is ctx's, or names the limits.
func (c *counter) check(s *jsonschema.Schema, v *value) (steps int, err error) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case countFault:
			err = fault.error
		default:
			panic(fault)
		}
	}()
	return c.count(s, v, 0).steps, nil
}

// countFault stops a count from within.
type countFault struct{ error }

func (c *counter) count(s *jsonschema.Schema, v *value, depth int) count {
	if s == nil {
		return count{}
	}
	if known, ok := c.known[pair{s, v}]; ok {
		return c.within(known, depth)
	}
	own := c.of.cost(s, v)
	c.visited += own
	if c.visited > mostSteps {
		panic(countFault{errTooManySteps})
	}
	if len(c.known)%1024 == 0 && c.ctx.Err() != nil {
		panic(countFault{c.ctx.Err()})
	}
	sum := count{steps: own, errors: own}
	for _, sub := range c.same(s) {
		sum.add(c.count(sub, v, depth+1))
		c.within(sum, depth)
	}
	for sub, part := range c.parts(s, v) {
		sum.add(c.count(sub, part, depth+1))
		c.within(sum, depth)
	}
	sum.steps += sum.errors / 64 // each schema copies the errors of those within it
	c.known[pair{s, v}] = sum
	return c.within(sum, depth)
}

// within returns a count that exceeds no limit.
func (c *counter) within(n count, depth int) count {
	if n.steps > mostSteps || depth+n.depth > mostNested {
		panic(countFault{errTooManySteps})
	}
	return n
}

// same returns the schemas that apply to the same value as s.
func (c *counter) same(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else, c.target(s.Ref), c.target(s.DynamicRef)})
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	return slices.AppendSeq(list, maps.Values(s.DependencySchemas))
}

// target returns the definition that a reference names, nil for no reference.
func (c *counter) target(ref string) *jsonschema.Schema {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return c.root.Defs[name]
	}
	return c.root.Definitions[strings.TrimPrefix(ref, "#/definitions/")]
}

// parts yields the schemas that may apply to the parts of a value.
func (c *counter) parts(s *jsonschema.Schema, v *value) func(yield func(*jsonschema.Schema, *value) bool) {
	return func(yield func(*jsonschema.Schema, *value) bool) {
		for i, item := range v.items {
			for _, sub := range []*jsonschema.Schema{s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems} {
				if !yield(sub, item) {
					return
				}
			}
			for _, list := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
				if i < len(list) && !yield(list[i], item) {
					return
				}
			}
		}
		for name, member := range v.members {
			for _, sub := range []*jsonschema.Schema{s.Properties[name], s.AdditionalProperties, s.UnevaluatedProperties} {
				if !yield(sub, member) {
					return
				}
			}
			if s.PropertyNames != nil && !yield(s.PropertyNames, newValue(name)) {
				return
			}
			for _, sub := range s.PatternProperties {
				if !yield(sub, member) {
					return
				}
			}
		}
	}
}

// costs are the costs of the schemas themselves, which are the same for all values.
type costs struct {
	fixed    map[*jsonschema.Schema]int
	patterns map[string]int // instructions
}

func newCosts() *costs { return &costs{map[*jsonschema.Schema]int{}, map[string]int{}} }

// cost returns the steps that a schema needs for a value without its parts. A value is written into an
// error where it does not fit, and so is a list of values that are allowed.
func (c *costs) cost(s *jsonschema.Schema, v *value) int {
	fixed, ok := c.fixed[s]
	if !ok {
		fixed = 1 + len(s.Required) + len(s.Properties) + len(s.DependentRequired)
		for _, of := range []any{s.Enum, s.Const} {
			data, _ := json.Marshal(of) // it was decoded from JSON
			fixed += len(data) / 16
		}
		c.fixed[s] = fixed
	}
	steps := fixed + v.size
	if s.Pattern != "" {
		steps += c.match(s.Pattern, v.text)
	}
	for expr := range s.PatternProperties {
		for name := range v.members {
			steps += c.match(expr, name)
		}
	}
	return min(steps, mostSteps+1)
}

// match returns the steps that a pattern needs for a text.
func (c *costs) match(expr, text string) int {
	size, ok := c.patterns[expr]
	if !ok {
		size, _ = heavy.PatternSize(expr) // the schema was compiled with it
		c.patterns[expr] = size
	}
	return 1 + len(text)*size/8
}

// checkPatterns refuses patterns that are too large together. It compiles none.
func checkPatterns(s *jsonschema.Schema) error {
	left := heavy.MostInstructions
	check := func(expr string) error {
		size, err := heavy.PatternSize(expr)
		if err != nil {
			return fmt.Errorf("it cannot be used: the pattern %q: %w", expr[:min(len(expr), 80)], err)
		}
		if left -= size; left < 0 {
			return fmt.Errorf("its patterns have more than %d instructions with their repetitions written out: repeat less", heavy.MostInstructions)
		}
		return nil
	}
	var walk func(*jsonschema.Schema) error
	walk = func(s *jsonschema.Schema) error {
		if s.Pattern != "" {
			if err := check(s.Pattern); err != nil {
				return err
			}
		}
		for _, expr := range slices.Sorted(maps.Keys(s.PatternProperties)) {
			if err := check(expr); err != nil {
				return err
			}
		}
		for sub := range below(s) {
			if err := walk(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(s)
}

// below yields the schemas within a schema.
func below(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) {
		list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, s.ItemsArray, []*jsonschema.Schema{
			s.Not, s.If, s.Then, s.Else, s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems,
			s.AdditionalProperties, s.UnevaluatedProperties, s.PropertyNames, s.ContentSchema,
		})
		for _, byName := range []map[string]*jsonschema.Schema{s.Defs, s.Definitions, s.Properties, s.PatternProperties, s.DependentSchemas, s.DependencySchemas} {
			for _, name := range slices.Sorted(maps.Keys(byName)) {
				list = append(list, byName[name])
			}
		}
		for _, sub := range list {
			if sub != nil && !yield(sub) {
				return
			}
		}
	}
}

// checkCost refuses a schema that is too much work for any answer, even an empty one.
func (s *Schema) checkCost() error {
	empty := newValue(map[string]any{})
	c := s.counter(context.Background())
	_, err := c.check(s.parsed, empty)
	for _, defs := range []map[string]*jsonschema.Schema{s.parsed.Defs, s.parsed.Definitions} {
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			if err == nil {
				_, err = c.check(defs[name], empty)
			}
		}
	}
	return err
}

func (s *Schema) counter(ctx context.Context) *counter {
	return &counter{ctx: ctx, root: s.parsed, of: newCosts(), known: map[pair]count{}}
}

// validate checks a decoded answer. It checks none that would take too many steps, and few that take many
// at once. problem says why the answer does not fit. err is the error of ctx.
func (s *Schema) validate(ctx context.Context, decoded any) (problem, err error) {
	steps, problem := s.counter(ctx).check(s.parsed, newValue(decoded))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case problem != nil:
		return problem, nil
	case steps <= fewSteps:
		return s.isFit.Validate(decoded), nil
	}
	err = heavy.Checks.Do(ctx, 0, func() error {
		problem = s.isFit.Validate(decoded)
		return nil
	})
	return problem, err
}
