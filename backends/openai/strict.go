package openai

import (
	"encoding/json"
	"slices"
	"strings"
)

// The limits of a schema that OpenAI enforces: how deep its objects are in one another, and how many
// properties and values it has.
const (
	mostStrictDepth  = 10
	mostStrictNames  = 5000
	mostStrictValues = 1000
)

// strictKeys are the keywords that OpenAI takes in a schema that it enforces ("Structured model outputs" in its guides;
// refusals "'default' is not permitted", "'uri' is not a valid format"), beside those with schemas.
const strictKeys = " type description title required enum const pattern format minLength maxLength multipleOf minimum maximum " +
	"exclusiveMinimum exclusiveMaximum minItems maxItems "

const strictFormats = " date-time time date duration email hostname ipv4 ipv6 uuid "

// isStrict reports whether OpenAI enforces a schema: it has no other keywords, and its objects name all of their
// properties as required and take no others. OpenAI refuses the request if it has to enforce another schema. Without
// enforcement the schema is a hint to the model.
func isStrict(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root["type"] != "object" || root["anyOf"] != nil {
		return false
	}
	var s strictness
	return s.is(root, 0) && s.names <= mostStrictNames && s.values <= mostStrictValues
}

// strictness counts the parts of a schema.
type strictness struct{ names, values int }

// is reports whether a part of a schema is strict, depth objects below the root.
func (s *strictness) is(value any, depth int) bool {
	part, ok := value.(map[string]any)
	if _, isReference := part["$ref"]; !ok || isReference {
		return ok && len(part) == 1
	}
	if part["type"] == nil && part["anyOf"] == nil {
		return false
	}
	properties, isObject := part["properties"].(map[string]any)
	if isObject || hasType(part, "object") {
		required, _ := part["required"].([]any)
		depth++
		s.names += len(properties)
		if part["additionalProperties"] != false || len(required) != len(properties) || depth > mostStrictDepth {
			return false
		}
	}
	if part["items"] == nil && hasType(part, "array") {
		return false
	}
	for key, value := range part {
		if !s.takes(key, value, depth) {
			return false
		}
	}
	return true
}

// takes reports whether a keyword of a strict schema may have a value.
func (s *strictness) takes(key string, value any, depth int) bool {
	named, isNamed := value.(map[string]any)
	list, isList := value.([]any)
	switch key {
	case "$defs", "definitions":
		depth = 0
		fallthrough
	case "properties":
		for _, one := range named {
			if !s.is(one, depth) {
				return false
			}
		}
		return isNamed
	case "anyOf":
		return isList && !slices.ContainsFunc(list, func(one any) bool { return !s.is(one, depth) })
	case "items":
		return s.is(value, depth)
	case "format":
		format, _ := value.(string)
		return strings.Contains(strictFormats, " "+format+" ")
	case "enum":
		s.values += len(list)
	}
	return key == "additionalProperties" || strings.Contains(strictKeys, " "+key+" ")
}

func hasType(part map[string]any, name string) bool {
	list, _ := part["type"].([]any)
	return part["type"] == name || slices.Contains(list, any(name))
}
