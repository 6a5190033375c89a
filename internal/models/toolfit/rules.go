package toolfit

import (
	"errors"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Rules says which schemas a service takes. The zero Rules are those that all services share: a valid
// JSON Schema (2020-12) of an object, without a combinator at its root.
type Rules struct {
	// NeedsProperties is set where an object at the root must have "properties", and NeedsItems where
	// each array must have "items".
	NeedsProperties, NeedsItems bool
	// NoRefs is set where references are not followed: each becomes a copy of its target. PlainRefs is set
	// where the service follows neither "#" nor a name with an escape ("%3C", "~1").
	NoRefs, PlainRefs bool
	// NoAllOf is set where allOf has no effect below the root.
	NoAllOf bool
	// NoBooleans is set where a schema cannot be true or false.
	NoBooleans bool
	// NoSchemaKey is set where "$schema" is refused.
	NoSchemaKey bool
	// NamedRequired is set where "required" may name only properties that the schema has.
	NamedRequired bool
	// SimplePatterns is set where a pattern must begin with ^ and end with $, and use no escapes of
	// classes, no lookaround and few repetitions.
	SimplePatterns bool
	// Typed is set where each schema must have a type, or another keyword that tells it.
	Typed bool
	// OneType is set where each schema must have a type, and where beside anyOf and $ref, which have none,
	// only a description may stand. DefsOnly is set where a reference must lead to the root's "$defs".
	OneType, DefsOnly bool
	// MaxRepeat is the highest minLength, maxLength, minItems or maxItems; 0 for any.
	MaxRepeat int
	// PlainNames is set where the name of a property has 1 to 64 letters, digits, "_", "." and "-", and
	// LetterFirst where it begins with a letter or "_", too.
	PlainNames, LetterFirst bool
	// MaxDescription is how many characters the description of a tool may have; 0 for any number.
	MaxDescription int
	// MaxTools is how many tools one request may have; 0 for any number.
	MaxTools int
}

// OpenAI returns the rules of OpenAI's APIs (refusals "object schema missing properties", "array schema
// missing items", "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at
// the top level", "string too long. Expected a string with maximum length 1024").
func OpenAI() Rules {
	r := Compatible()
	r.SimplePatterns, r.PlainRefs, r.MaxDescription, r.MaxTools = false, false, 1024, most128
	return r
}

// most128 is the limit of OpenAI's APIs ("Invalid 'tools': array too long. Expected an array with maximum
// length 128") and of services that copied it (Groq: "'tools' : maximum number of items is 128"; the
// references of DeepSeek and Z.ai: 128 functions).
const most128 = 128

// UpTo128 returns the rules of a service that takes 128 tools and is otherwise as most are.
func UpTo128() Rules { return Rules{NeedsProperties: true, NeedsItems: true, MaxTools: most128} }

// Compatible returns the rules for a service that speaks as OpenAI does and is not known: it may be
// OpenAI's own or llama.cpp behind a proxy.
func Compatible() Rules {
	return Rules{NeedsProperties: true, NeedsItems: true, SimplePatterns: true, PlainRefs: true}
}

// Claude returns the rules of Anthropic's Messages API (refusals "input_schema does not support oneOf,
// allOf, or anyOf at the top level", "JSON schema is invalid. It must match JSON Schema draft 2020-12",
// "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'").
func Claude() Rules { return Rules{PlainNames: true} }

// Gemini returns the rules of the Gemini API (refusals "reference to undefined schema", "items: missing
// field", "property is not defined", "At most 512 function declarations can be specified"; "JSON Schema
// support" in its docs lists the keywords).
func Gemini() Rules {
	return Rules{
		NeedsItems: true, NoRefs: true, NoAllOf: true, NoBooleans: true, NoSchemaKey: true, NamedRequired: true,
		PlainNames: true, LetterFirst: true, MaxTools: 512,
	}
}

// Moonshot returns the rules of Moonshot AI (refusals "not a valid moonshot flavored json schema: when using
// anyOf, type should be defined in anyOf items instead of the parent schema", "type is not defined",
// "references must start with #/$defs/"; github.com/MoonshotAI/walle has the dialect and its checks).
func Moonshot() Rules {
	return Rules{NeedsProperties: true, NoAllOf: true, NoBooleans: true, NamedRequired: true, OneType: true, DefsOnly: true}
}

// LlamaCpp returns the rules of llama.cpp, which makes a grammar of all schemas
// (common/json-schema-to-grammar.cpp; refusals "Pattern must start with '^' and end with '$'",
// "Unrecognized schema", "number of repetitions exceeds sane defaults", "Unsupported ref: #", "Error
// resolving ref").
func LlamaCpp() Rules {
	return Rules{NeedsProperties: true, NoBooleans: true, PlainRefs: true, SimplePatterns: true, Typed: true, MaxRepeat: 1000}
}

// Ollama returns the rules of Ollama, which reads schemas into structs and loses what these lack
// (api/types.go: ToolFunctionParameters, ToolProperty), before llama.cpp may get them.
func Ollama() Rules {
	return LlamaCpp().And(Rules{NoRefs: true, NoAllOf: true})
}

// LMStudio returns the rules of LM Studio, which runs llama.cpp and checks schemas before it.
func LMStudio() Rules {
	return LlamaCpp().And(Rules{NoRefs: true, NeedsItems: true})
}

// For adds the rules of the company that made a model, for services that pass calls on to others, such
// as "anthropic/claude-opus-4.6".
func (r Rules) For(model string) Rules {
	name := strings.ToLower(path.Base(model))
	maker := makers.FindStringSubmatch(name)
	switch {
	case maker != nil && maker[1] == "gemini":
		return r.And(Gemini())
	case maker != nil:
		return r.And(Claude())
	case strings.HasPrefix(name, "kimi-"), strings.HasPrefix(name, "moonshot-"):
		return r.And(Moonshot())
	case isOpenAI(name):
		return r.And(Rules{MaxTools: most128})
	}
	return r
}

// makers matches a model of Anthropic or Google. A region or the name of a cloud may stand before its own
// name: "us.anthropic.claude-opus-4-1-v1:0", "databricks-gemini-2-5-pro".
var makers = regexp.MustCompile(`(?:^|[^a-z0-9])(claude|anthropic|gemini)(?:[^a-z0-9]|\d|$)`)

// isOpenAI reports whether OpenAI serves a model. Its open models run everywhere.
func isOpenAI(name string) bool {
	for _, prefix := range []string{"gpt-", "chatgpt-", "o1", "o3", "o4"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "gpt-oss")
		}
	}
	return false
}

// And returns the rules of a schema that two services take.
func (r Rules) And(o Rules) Rules {
	return Rules{
		NeedsProperties: r.NeedsProperties || o.NeedsProperties,
		NeedsItems:      r.NeedsItems || o.NeedsItems,
		NoRefs:          r.NoRefs || o.NoRefs,
		PlainRefs:       r.PlainRefs || o.PlainRefs,
		NoAllOf:         r.NoAllOf || o.NoAllOf,
		NoBooleans:      r.NoBooleans || o.NoBooleans,
		NoSchemaKey:     r.NoSchemaKey || o.NoSchemaKey,
		NamedRequired:   r.NamedRequired || o.NamedRequired,
		SimplePatterns:  r.SimplePatterns || o.SimplePatterns,
		Typed:           r.Typed || o.Typed,
		OneType:         r.OneType || o.OneType,
		DefsOnly:        r.DefsOnly || o.DefsOnly,
		MaxRepeat:       lower(r.MaxRepeat, o.MaxRepeat),
		PlainNames:      r.PlainNames || o.PlainNames,
		LetterFirst:     r.LetterFirst || o.LetterFirst,
		MaxDescription:  lower(r.MaxDescription, o.MaxDescription),
		MaxTools:        lower(r.MaxTools, o.MaxTools),
	}
}

// lower returns the lower of two limits, of which 0 is none.
func lower(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// isSimple reports whether llama.cpp makes a grammar of a pattern. It takes fewer than 2,000 repetitions, and
// multiplies those within each other. Go's parser takes 1,000 of them, and counts in the same way.
func isSimple(pattern string) bool {
	if !simplePattern.MatchString(pattern) {
		return false
	}
	_, err := syntax.Parse(strings.ReplaceAll(pattern, "{,", "{0,"), syntax.Perl)
	var at *syntax.Error
	return !errors.As(err, &at) || at.Code != syntax.ErrInvalidRepeatSize && at.Code != syntax.ErrLarge
}

// simplePattern matches the patterns that have only what llama.cpp knows.
var simplePattern = regexp.MustCompile(`^\^(?:[^\\(]|\\[^a-zA-Z0-9]|\((?:[^?]|\?:))*\$$`)
