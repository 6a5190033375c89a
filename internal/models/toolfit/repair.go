package toolfit

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// repair makes one schema valid in JSON Schema 2020-12: what older drafts wrote in another way, and what
// servers write for nothing (null, and PHP's [] for {}).
func repair(s schema) {
	repairType(s)
	repairRequired(s)
	repairTuple(s)
	repairLimits(s)
	repairDependencies(s)
	for key, value := range s {
		valid, ok := isValid(key, value)
		switch {
		case ok && !valid:
			delete(s, key)
		case hasSchemas(key):
			if _, ok := value.(schema); !ok {
				s[key] = schema{}
			}
		case isListOfSchemas(key), key == "enum":
			if list, ok := value.([]any); !ok || len(list) == 0 {
				delete(s, key)
			}
		case isSchema(key):
			repairSchema(s, key)
		}
	}
}

// isValid reports whether the meta-schema of JSON Schema 2020-12 takes a value for a keyword. ok is false for
// a keyword that takes any value, or schemas.
func isValid(key string, value any) (valid, ok bool) {
	switch key {
	case "title", "description", "pattern", "format", "$comment", "contentEncoding", "contentMediaType", "$schema", "$dynamicRef", "$recursiveRef":
		valid = isText(value)
	case "$id":
		text, ok := value.(string)
		valid = ok && !strings.Contains(strings.TrimSuffix(text, "#"), "#")
	case "$anchor", "$dynamicAnchor":
		text, _ := value.(string)
		valid = anchor.MatchString(text)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		_, valid = value.(json.Number)
	case "multipleOf":
		n, isNumber := number(value)
		valid = isNumber && n > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		n, isNumber := number(value)
		valid = isNumber && n >= 0 && n == math.Trunc(n)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly", "$recursiveAnchor":
		valid = isBool(value)
	case "examples":
		_, valid = value.([]any)
	case "dependentRequired", "dependencies":
		valid = eachIs(value, isNames)
	case "$vocabulary":
		valid = eachIs(value, isBool)
	default:
		return false, false
	}
	return valid, true
}

var anchor = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)

func isText(value any) bool { _, ok := value.(string); return ok }
func isBool(value any) bool { _, ok := value.(bool); return ok }

func number(value any) (n float64, ok bool) {
	text, ok := value.(json.Number)
	n, err := text.Float64()
	return n, ok && err == nil
}

// isNames reports whether a value is a list of different texts.
func isNames(value any) bool {
	list, ok := value.([]any)
	known := map[any]bool{}
	for _, one := range list {
		if !isText(one) || known[one] {
			return false
		}
		known[one] = true
	}
	return ok
}

// eachIs reports whether a value is an object with only values that is accepts.
func eachIs(value any, is func(any) bool) bool {
	named, ok := value.(schema)
	for _, one := range named {
		ok = ok && is(one)
	}
	return ok
}

// repairSchema repairs a keyword that has one schema.
func repairSchema(s schema, key string) {
	switch value := s[key].(type) {
	case schema, bool:
	case []any:
		s[key] = schema{}
		if len(value) > 0 {
			delete(s, key)
		}
	default:
		delete(s, key)
	}
}

// typeName returns the type of JSON Schema that a word means, empty for a word that means none.
func typeName(word any) string {
	name, _ := word.(string)
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "array", "boolean", "integer", "null", "number", "object", "string":
		return name
	case "int", "int32", "int64", "long":
		return "integer"
	case "float", "double", "decimal":
		return "number"
	case "str", "text":
		return "string"
	case "bool":
		return "boolean"
	case "dict", "map":
		return "object"
	case "list", "tuple":
		return "array"
	case "none":
		return "null"
	}
	return ""
}

func repairType(s schema) {
	value, ok := s["type"]
	if !ok {
		return
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var names []any
	for _, one := range list {
		name := typeName(one)
		if name == "" && one == nil {
			name = "null"
		}
		if name != "" && !containsText(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0, value == nil:
		delete(s, "type")
	case isList:
		s["type"] = names
	default:
		s["type"] = names[0]
	}
}

// repairRequired leaves texts in a list, each once. Draft 3 set required: true in a property; the
// property's own schema cannot have it.
func repairRequired(s schema) {
	if properties, ok := s["properties"].(schema); ok {
		for _, name := range sortedKeys(properties) {
			if p, ok := properties[name].(schema); ok && p["required"] == true {
				list, _ := s["required"].([]any)
				s["required"] = append(slices.Clone(list), name)
			}
		}
	}
	value, ok := s["required"]
	if !ok {
		return
	}
	list, isList := value.([]any)
	if !isList {
		delete(s, "required")
		return
	}
	kept, known := []any{}, map[string]bool{}
	for _, one := range list {
		if name, ok := one.(string); ok && !known[name] {
			known[name] = true
			kept = append(kept, name)
		}
	}
	s["required"] = kept
}

// repairTuple writes the list of schemas that drafts until 2019-09 had in items as prefixItems.
func repairTuple(s schema) {
	list, ok := s["items"].([]any)
	if !ok {
		return
	}
	delete(s, "items")
	if rest, ok := s["additionalItems"]; ok {
		s["items"] = rest
		delete(s, "additionalItems")
	}
	if _, ok := s["prefixItems"]; !ok && len(list) > 0 {
		s["prefixItems"] = list
	}
}

// repairDependencies writes the schemas in dependencies, which drafts until 2019-09 had, as dependentSchemas.
func repairDependencies(s schema) {
	all, _ := s["dependencies"].(schema)
	if len(all) == 0 {
		return
	}
	for name, value := range all {
		if _, ok := value.(schema); ok || isBool(value) {
			own, _ := s["dependentSchemas"].(schema)
			if own == nil {
				own = schema{}
				s["dependentSchemas"] = own
			}
			own[name] = value
			delete(all, name)
		}
	}
	if len(all) == 0 {
		delete(s, "dependencies")
	}
}

// repairLimits repairs keywords with numbers. In draft 4 an exclusive limit was a mark beside the limit.
func repairLimits(s schema) {
	for exclusive, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if is, ok := s[exclusive].(bool); ok {
			delete(s, exclusive)
			if number, ok := s[limit]; ok && is {
				s[exclusive] = number
				delete(s, limit)
			}
		}
	}
}

// restrict takes out of one schema what the service refuses.
func (f *fitter) restrict(s schema) {
	if pattern, ok := s["pattern"].(string); ok && f.SimplePatterns && !isSimple(pattern) {
		delete(s, "pattern")
		describe(s, "It matches the pattern "+pattern)
	}
	for _, key := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		number, ok := s[key].(json.Number)
		if n, err := number.Float64(); ok && f.MaxRepeat > 0 && (err != nil || n > float64(f.MaxRepeat)) {
			delete(s, key)
			describe(s, "Its "+key+" is "+number.String())
		}
	}
	isArray := s["type"] == "array"
	if list, ok := s["type"].([]any); ok && !f.OneType {
		isArray = containsText(list, "array")
	}
	if _, ok := s["items"]; !ok && f.NeedsItems && isArray {
		s["items"] = schema{}
	}
}

// describe adds a sentence to the description of a schema.
func describe(s schema, sentence string) {
	text, _ := s["description"].(string)
	s["description"] = strings.TrimSpace(strings.TrimSpace(text) + " (" + plain.Line(sentence) + ")")
}

// addType gives a schema without a type all types, where the service wants one.
func (f *fitter) addType(s schema) schema {
	if !f.Typed || len(s) == 0 {
		return s
	}
	for _, key := range []string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum", "properties", "items", "prefixItems"} {
		if _, ok := s[key]; ok {
			return s
		}
	}
	if _, ok := s["additionalProperties"].(schema); ok {
		return s
	}
	delete(s, "not")
	s["type"] = anyType()
	return s
}

// nameRequired leaves only names of properties in required.
func nameRequired(s schema) {
	list, ok := s["required"].([]any)
	if !ok {
		return
	}
	properties, _ := s["properties"].(schema)
	kept := slices.DeleteFunc(slices.Clone(list), func(name any) bool {
		_, known := properties[name.(string)]
		return !known
	})
	if len(kept) == 0 && len(list) > 0 {
		delete(s, "required")
		return
	}
	s["required"] = kept
}
