package conversation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

// readBlock reads one block of a message's content.
func readBlock(raw json.RawMessage, role backends.Role) (backends.Part, error) {
	o := readObject(raw)
	kind := o.text("type")
	if o.err != nil {
		return nil, o.err
	}
	if err := checkPlace(kind, role); err != nil {
		return nil, err
	}
	part := o.block(kind)
	return part, o.err
}

func (o *object) block(kind string) backends.Part {
	switch kind {
	case textType:
		o.only("type", "text")
		return backends.Text{Text: o.text("text")}
	case reasoningType:
		o.only("type", "text")
		return backends.Reasoning{Text: o.text("text")}
	case imageType:
		o.only("type", "source")
		return o.image()
	case toolUseType:
		o.only("type", "id", "name", "input")
		return o.toolCall("input")
	case toolResultType:
		o.only("type", "tool_use_id", "content", "is_error")
		return backends.ToolResult{CallID: o.text("tool_use_id"), Content: o.text("content"), IsError: o.flag("is_error")}
	case opaqueType:
		o.only("type", "provider", "model", "data")
		opaque := backends.Opaque{Provider: o.text("provider"), Model: o.text("model"), Data: o.fields["data"]}
		if opaque.Data == nil {
			o.fail("data is missing")
		}
		return opaque
	}
	types := []string{textType, imageType, toolUseType, toolResultType, reasoningType, opaqueType}
	o.fail("type %q is unknown: the types are %s", kind, commas(types))
	return nil
}

// checkPlace says whether a block may stand in a message of the role.
func checkPlace(kind string, role backends.Role) error {
	switch {
	case kind == toolUseType && role != backends.RoleAssistant:
		return fmt.Errorf("a tool_use block stands in a message of role assistant, not %s", role)
	case kind == toolResultType && role != backends.RoleUser && role != backends.RoleTool:
		return fmt.Errorf("a tool_result block stands in a message of role user, not %s", role)
	case kind != toolResultType && role == backends.RoleTool:
		return fmt.Errorf("a message of role tool has only tool_result blocks, and this is of type %q", kind)
	}
	return nil
}

func (o *object) image() (image backends.Image) {
	source := readObject(o.fields["source"])
	switch kind := source.text("type"); kind {
	case "url":
		source.only("type", "url")
		image.URL = source.text("url")
	case "base64":
		source.only("type", "media_type", "data")
		image.MediaType = source.text("media_type")
		data := source.text("data")
		var err error
		if image.Data, err = base64.StdEncoding.DecodeString(data); err != nil || data == "" {
			source.fail("data is not base64")
		}
	default:
		source.fail("type %q is unknown: the types are base64 and url", kind)
	}
	if source.err != nil {
		o.fail("source: %w", source.err)
	}
	return image
}

func commas(words []string) string { return strings.Join(words, ", ") }
