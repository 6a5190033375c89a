package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/system/heavy"
	"github.com/massgen/massgen/internal/system/plain"
)

// noResult is what a model reads of a call that succeeded and returned nothing.
const noResult = "The tool returned nothing."

// render returns the text of a result for the model: texts as they are, a line for anything else, and
// structured content as JSON unless a text is the same JSON. It returns pictures beside the text of the
// call of ctx. A result marked as an error becomes an error.
func render(ctx context.Context, result *sdk.CallToolResult) (string, error) {
	var parts []string
	text, isStructured := result.StructuredContent.(string) // repairedResult made it
	structured := readStructured(text)
	said := !isStructured
	for _, content := range result.Content {
		part := renderContent(ctx, content)
		said = said || structured.isIn(part)
		if part != "" {
			parts = append(parts, part)
		}
	}
	if !said {
		parts = append(parts, structured.line)
	}
	text = strings.ReplaceAll(strings.Join(parts, "\n"), "\x00", "") // no service takes a NUL
	switch {
	case result.IsError && text == "":
		return "", errors.New("the tool failed and does not say why")
	case result.IsError:
		return "", errors.New(text)
	case text == "":
		return noResult, nil
	}
	return text, nil
}

func renderContent(ctx context.Context, content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return picture(ctx, "image", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return binary("audio", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[resource %s, not shown] %s %s", c.URI, c.Name, c.Description))
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "[an empty resource]"
		case c.Resource.Blob != nil:
			if strings.HasPrefix(c.Resource.MIMEType, "image/") {
				return picture(ctx, "resource "+c.Resource.URI, c.Resource.MIMEType, c.Resource.Blob)
			}
			return binary("resource "+c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return "[resource " + c.Resource.URI + "]\n" + c.Resource.Text
	}
	return fmt.Sprintf("[content of a kind that is not shown: %T]", content)
}

// picture gives a picture to the model and returns its line in the text. The line says why if the
// model does not get the picture.
func picture(ctx context.Context, what, mimeType string, data []byte) string {
	if err := agents.ReturnFile(ctx, path.Base(what), data); err != nil {
		return strings.TrimSuffix(binary(what, mimeType, len(data)), "]") + ": " + err.Error() + "]"
	}
	return fmt.Sprintf("[%s, %s, %d bytes]", what, mimeType, len(data))
}

// binary returns the line for content that is no text.
func binary(what, mimeType string, size int) string {
	if mimeType != "" {
		what += ", " + mimeType
	}
	return fmt.Sprintf("[%s, %d bytes, not shown]", what, size)
}

// structured is the structured content of a result.
type structured struct {
	line   string // for the model
	values int    // as heavy.Shape counts them
	value  any    // nil if there are more than mostValues
}

// readStructured reads structured content, with its numbers as they were written. It does not decode a text of
// more than mostValues, from which it only cuts the blanks.
func readStructured(text string) structured {
	s := structured{line: text, values: heavy.ShapeOf([]byte(text)).Values}
	if s.values > mostValues {
		s.line = compact(text)
		return s
	}
	value, err := exactJSON(text)
	if err != nil {
		return s
	}
	if line, err := plain.JSON(value); err == nil {
		s.line, s.value = string(line), value
	}
	return s
}

// isIn reports whether a text of the result is the same JSON.
func (s structured) isIn(text string) bool {
	if heavy.ShapeOf([]byte(text)).Values != s.values {
		return false
	}
	if s.values > mostValues {
		return compact(text) == s.line
	}
	value, err := exactJSON(text)
	return err == nil && sameJSON(value, s.value)
}

// compact returns JSON without blanks, and other texts as they are.
func compact(text string) string {
	var out bytes.Buffer
	if json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

// exactJSON decodes a JSON text. A number is a json.Number, as it was written.
func exactJSON(text string) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}

// sameJSON reports whether two values of exactJSON are equal.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	}
	return a == b
}

// sameNumber reports whether two numbers are equal. Large integers can differ although a float64 is the same.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	const mostExact = 1 << 53
	x, err := a.Float64()
	y, otherErr := b.Float64()
	areIntegers := !strings.ContainsAny(string(a+b), ".eE")
	return err == nil && otherErr == nil && x == y && (!areIntegers || math.Abs(x) < mostExact)
}
