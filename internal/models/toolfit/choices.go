package toolfit

import (
	"encoding/json"
	"slices"
	"strings"
)

// besideChoice reports whether a keyword may stand beside anyOf where each schema has one type.
func besideChoice(key string) bool {
	switch key {
	case "anyOf", "description", "title", "default", "$defs", "definitions":
		return true
	}
	return false
}

// giveType gives a schema its type where the service wants one in each: beside anyOf and $ref it wants
// none, and moves the keywords there into the branches.
func (f *fitter) giveType(s schema) error {
	if one, ok := s["const"]; ok {
		s["enum"] = []any{one}
		delete(s, "const")
	}
	if list, ok := s["oneOf"].([]any); ok {
		if _, both := s["anyOf"]; !both {
			s["anyOf"] = list
		}
		delete(s, "oneOf")
	}
	if _, ok := s["$ref"]; ok {
		for key := range s {
			if key != "$ref" && key != "description" && key != "title" {
				delete(s, key)
			}
		}
		return nil
	}
	if list, ok := s["anyOf"].([]any); ok {
		return f.moveIntoBranches(s, list)
	}
	typeOfValues(s)
	if _, ok := s["type"]; !ok {
		s["type"] = typeOfKeywords(s)
	}
	if list, ok := s["type"].([]any); ok {
		return f.splitTypes(s, list)
	}
	return nil
}

// moveIntoBranches moves the keywords beside anyOf into its branches.
func (f *fitter) moveIntoBranches(s schema, branches []any) error {
	shared := schema{}
	for _, key := range sortedKeys(s) {
		if !besideChoice(key) {
			shared[key] = s[key]
			delete(s, key)
		}
	}
	if len(shared) == 0 {
		return nil
	}
	if shared["type"] == nil {
		if kind, ok := typeOfKeywords(shared).(string); ok {
			shared["type"] = kind
		}
	}
	for i, one := range branches {
		branch, ok := one.(schema)
		if !ok {
			branch = schema{}
			branches[i] = branch
		}
		if err := f.addShared(branch, shared); err != nil {
			return err
		}
	}
	return nil
}

// addShared adds the keywords beside a choice to one of its branches. A branch of another type keeps its
// own.
func (f *fitter) addShared(branch, shared schema) error {
	for _, key := range []string{"$ref", "anyOf", "oneOf"} {
		if _, ok := branch[key]; ok && (key == "$ref" || shared["type"] == nil) {
			return nil
		}
	}
	if kind, ok := branch["type"]; ok && kind != shared["type"] {
		return nil
	}
	copied, err := f.copy(shared)
	if err != nil {
		return err
	}
	other := copied.(schema)
	if err := f.narrowProperties(branch, other, nil); err != nil {
		return err
	}
	require(branch, required(other))
	for key, value := range other {
		if _, ok := branch[key]; !ok {
			branch[key] = value
		}
	}
	return nil
}

// splitTypes makes a choice of a schema with several types, unless nothing but a description stands
// beside them, or values of one type and null.
func (f *fitter) splitTypes(s schema, kinds []any) error {
	if len(kinds) == 1 {
		s["type"] = kinds[0]
		return nil
	}
	_, hasValues := s["enum"]
	isPlain := !hasValues || len(kinds) == 2 && containsText(kinds, "null")
	for key := range s {
		isPlain = isPlain && (besideChoice(key) || key == "type" || key == "enum")
	}
	if isPlain {
		return nil
	}
	own := schema{}
	for _, key := range sortedKeys(s) {
		if !besideChoice(key) && key != "type" {
			own[key] = s[key]
			delete(s, key)
		}
	}
	delete(s, "type")
	var branches []any
	for _, kind := range kinds {
		branch := schema{"type": kind}
		for key, value := range own {
			name, _ := kind.(string)
			if of := keywordType(key); of != "" && of != name && !(of == "number" && name == "integer") {
				continue
			}
			f.copied += len(key)
			copied, err := f.copy(value)
			if err != nil {
				return err
			}
			if list, ok := copied.([]any); ok && key == "enum" {
				copied = slices.DeleteFunc(list, func(v any) bool { return valueType(v) != name && !(name == "number" && valueType(v) == "integer") })
				if len(list) > 0 && len(copied.([]any)) == 0 {
					continue
				}
			}
			branch[key] = copied
		}
		branches = append(branches, branch)
	}
	s["anyOf"] = branches
	return nil
}

// typeOfValues gives a schema with values the type of these. It drops values that the service takes in no
// list: those that are neither texts nor numbers.
func typeOfValues(s schema) {
	values, ok := s["enum"].([]any)
	if !ok {
		return
	}
	var kinds, kept []any
	isOdd := false
	for _, value := range values {
		kind := valueType(value)
		if !containsText(kinds, kind) {
			kinds = append(kinds, kind)
		}
		isOdd = isOdd || kind == "boolean" || kind == "object" || kind == "array"
		kept = append(kept, value)
	}
	if containsText(kinds, "number") {
		kinds = slices.DeleteFunc(kinds, func(kind any) bool { return kind == "integer" })
	}
	if _, typed := s["type"]; !typed {
		s["type"] = kinds
	}
	onlyNull := len(kinds) == 1 && kinds[0] == "null"
	if isOdd || onlyNull {
		delete(s, "enum")
		if text, err := json.Marshal(kept); err == nil && !onlyNull {
			describe(s, "One of "+strings.Trim(string(text), "[]"))
		}
	}
}

func valueType(value any) string {
	switch value := value.(type) {
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return "number"
		}
		return "integer"
	case bool:
		return "boolean"
	case nil:
		return "null"
	case []any:
		return "array"
	}
	return "object"
}

// typeOfKeywords returns the type that the keywords of a schema are about, or all types.
func typeOfKeywords(s schema) any {
	for _, key := range sortedKeys(s) {
		if kind := keywordType(key); kind != "" {
			return kind
		}
	}
	return anyType()
}

func anyType() []any { return []any{"string", "number", "boolean", "object", "array", "null"} }

// keywordType returns the type that a keyword is about, empty for one that is about any.
func keywordType(key string) string {
	switch key {
	case "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties", "dependentRequired", "dependentSchemas":
		return "object"
	case "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems":
		return "array"
	case "minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType":
		return "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return "number"
	}
	return ""
}
