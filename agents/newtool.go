package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// NewTool makes a tool from a function. A is a struct, from which the schema of the arguments
// is derived: a field has its JSON name, the text of its tag `jsonschema` as its description,
// and is required unless it is omitempty or omitzero. Arguments that do not fit the schema are
// refused without calling run, and the model gets the reason.
//
// The model gets a string result unchanged, and any other result as JSON. It gets an error or a
// panic of run too. run is called concurrently. Its ctx has the CallInfo, PanelValue and
// TurnValue of the call.
//
// While a panel plans (permission.Planning), the tool does not run, since it may change the
// world. For a function that does not, define a type with the method ChangesWorld(string) bool.
//
// The error names what a provider would refuse: a name with other characters than letters,
// digits, - and _, or of more than 64, no description, or arguments without a schema, such as a
// type that contains itself.
func NewTool[A, R any](name, description string, run func(ctx context.Context, args A) (R, error)) (Tool, error) {
	switch {
	case !toolName.MatchString(name):
		return nil, fmt.Errorf("a tool is named %q: use 1 to 64 letters, digits, - and _", name)
	case strings.TrimSpace(description) == "":
		return nil, fmt.Errorf("tool %s has no description: add one, models choose by it", name)
	case run == nil:
		return nil, fmt.Errorf("tool %s has no function to run", name)
	}
	schema, err := argumentSchema[A]()
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	t := &goTool[A, R]{definition: backends.Tool{Name: name, Description: description}, run: run}
	if t.definition.Schema, err = encodeSchema(schema); err != nil {
		return nil, fmt.Errorf("tool %s: %w", name, err)
	}
	if t.schema, err = schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("tool %s: resolve the schema of its arguments: %w", name, err)
	}
	return t, nil
}

// toolName matches the names that all providers accept.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

type goTool[A, R any] struct {
	definition backends.Tool
	schema     *jsonschema.Resolved
	run        func(context.Context, A) (R, error)
}

// Definition is the description of the tool for models.
func (t *goTool[A, R]) Definition() backends.Tool { return t.definition }

// Call checks the arguments and runs the function.
func (t *goTool[A, R]) Call(ctx context.Context, arguments string) (string, error) {
	args, err := t.decode(arguments)
	if err != nil {
		return "", fmt.Errorf("the arguments of %s are not as its schema has them: %w", t.definition.Name, err)
	}
	result, err := t.run(ctx, args)
	if err != nil {
		return "", err
	}
	if text, ok := any(result).(string); ok {
		return text, nil
	}
	encoded, err := plain.JSON(result) // no character is escaped for HTML: a model reads it
	if err != nil {
		return "", fmt.Errorf("encode the result: %w", err)
	}
	return string(encoded), nil
}

// decode reads arguments that fit the schema. Some models write an empty text for no arguments.
func (t *goTool[A, R]) decode(arguments string) (args A, err error) {
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	data := []byte(arguments)
	var given any
	if err := json.Unmarshal(data, &given); err != nil {
		return args, fmt.Errorf("they are no JSON: %w", err)
	}
	if err := t.schema.Validate(given); err != nil {
		return args, mismatch(err)
	}
	err = json.Unmarshal(data, &args)
	return args, err
}

// argumentSchema returns the schema of a struct.
func argumentSchema[A any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, fmt.Errorf("derive the schema of its arguments: %w", err)
	}
	if reflect.TypeFor[A]().Kind() != reflect.Struct || schema.Type != "object" {
		return nil, fmt.Errorf("its arguments are a %T: make them a struct, with a field for each", *new(A))
	}
	withoutNull(schema)
	return schema, nil
}

// withoutNull removes null from the types of lists: Go writes an empty list so, but a model
// should not have that choice.
func withoutNull(schema *jsonschema.Schema) {
	if len(schema.Types) == 2 && schema.Types[0] == "null" && schema.Types[1] == "array" {
		schema.Type, schema.Types = "array", nil
	}
	for _, p := range schema.Properties {
		withoutNull(p)
	}
	for _, s := range []*jsonschema.Schema{schema.Items, schema.AdditionalProperties} {
		if s != nil {
			withoutNull(s)
		}
	}
}

// encodeSchema writes a schema. It writes properties even for no arguments, since some services
// refuse an object without them.
func encodeSchema(schema *jsonschema.Schema) (json.RawMessage, error) {
	if len(schema.Properties) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), nil
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("encode the schema of its arguments: %w", err)
	}
	return data, nil
}

// wherePrefix is the library's name of the part of a schema at fault, once for each schema
// around the part.
var wherePrefix = regexp.MustCompile(`^validating (\S+): `)

// mostMismatch is the most bytes of an error about arguments that a model gets: the library
// repeats the value.
const mostMismatch = 300

// mismatch returns the fault of arguments, in one line that begins with the place.
func mismatch(err error) error {
	text, place := err.Error(), ""
	for {
		found := wherePrefix.FindStringSubmatch(text)
		if found == nil {
			break
		}
		place, text = found[1], text[len(found[0]):]
	}
	if place != "" && place != "root" {
		text = strings.NewReplacer("/properties/", "/", "/items", "[]", "/additionalProperties", "/*").Replace(place)[1:] + ": " + text
	}
	text = strings.ReplaceAll(text, "<invalid reflect.Value>", "null")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > mostMismatch {
		text = strings.ToValidUTF8(text[:mostMismatch/2], "") + " … " + strings.ToValidUTF8(text[len(text)-mostMismatch/2:], "")
	}
	return errors.New(text)
}
