package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/system/plain"
)

// noResult is what a model reads of a call that succeeded and returned nothing.
const noResult = "The tool returned nothing."

// render returns the text of a result for the model: texts as they are, a line for anything else, and
// structured content as JSON unless a text is the same JSON. It returns pictures beside the text of the
// call of ctx. A result marked as an error becomes an error.
func render(ctx context.Context, result *sdk.CallToolResult) (string, error) {
	var parts []string
	said := false
	for _, content := range result.Content {
		part := renderContent(ctx, content)
		said = said || result.StructuredContent != nil && sameJSON(part, result.StructuredContent)
		if part != "" {
			parts = append(parts, part)
		}
	}
	if result.StructuredContent != nil && !said {
		data, err := plain.JSON(result.StructuredContent)
		if err != nil {
			return "", fmt.Errorf("encode its structured content: %w", err)
		}
		parts = append(parts, string(data))
	}
	text := strings.ReplaceAll(strings.Join(parts, "\n"), "\x00", "") // no service takes a NUL
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

func sameJSON(text string, value any) bool {
	var said any
	return json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, value)
}
