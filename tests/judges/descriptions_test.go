//go:build judges

package judges

import (
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/massgen/massgen/tests/described"
)

type object = described.Object

// bodySchema returns the schema of request bodies that OpenAI, Anthropic or Google
// publish for the operation that the adapter of the protocol calls.
func bodySchema(t *testing.T, protocol string) *jsonschema.Schema {
	t.Helper()
	switch protocol {
	case "openai":
		return compile(t, openAPI(t, protocol), "#/paths/~1chat~1completions"+bodyOfPost)
	case "responses":
		return compile(t, ofResponses(openAPI(t, "openai")), "#/paths/~1responses"+bodyOfPost)
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
	schema, err := described.Compile(description, pointer)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// openAPI reads a description of OpenAPI 3.1, whose schemas are JSON Schema.
func openAPI(t *testing.T, protocol string) object {
	t.Helper()
	description := readDescription(t, protocol, "openapi.yml")
	schemas := description["components"].(object)["schemas"].(object)
	described.Update(schemas)
	described.Close(schemas)
	return description
}

// ofResponses mends what the description says of the Responses API: a message with an image,
// as in its own examples, fits two of the forms of which it has to fit one; and the request is
// a part of others, so that it was not closed.
func ofResponses(description object) object {
	schemas := description["components"].(object)["schemas"].(object)
	input := schemas["InputItem"].(object)
	input["anyOf"] = input["oneOf"]
	delete(input, "oneOf")
	schemas["CreateResponse"].(object)["unevaluatedProperties"] = false
	return description
}

// discovery reads Google's own form of description and makes JSON Schema of what
// differs: references are names, and "any" is a type.
func discovery(t *testing.T, protocol string) object {
	t.Helper()
	description := readDescription(t, protocol, "discovery.json")
	schemas := description["schemas"].(object)
	described.ForEach(schemas, func(s object) {
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
	described.Close(schemas)
	return description
}

func readDescription(t *testing.T, protocol, file string) object {
	t.Helper()
	description, err := described.Read(installed(t, "python"), protocol, file)
	if err != nil {
		t.Fatal(err)
	}
	return description
}
