package conversation

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

// readBlock reads one block of a message's content.
func readBlock(raw json.RawMessage, role backends.Role) (backends.Part, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, errors.New("it is not an object")
	}
	kind, err := o.text("type")
	if err != nil {
		return nil, err
	}
	if err := checkPlace(kind, role); err != nil {
		return nil, err
	}
	switch kind {
	case textType:
		text, err := o.onlyText()
		return backends.Text{Text: text}, err
	case reasoningType:
		text, err := o.onlyText()
		return backends.Reasoning{Text: text}, err
	case imageType:
		return o.image()
	case toolUseType:
		if err := o.only("type", "id", "name", "input"); err != nil {
			return nil, err
		}
		return o.toolCall("input")
	case toolResultType:
		return o.toolResult()
	case opaqueType:
		return o.opaque()
	}
	types := []string{textType, imageType, toolUseType, toolResultType, reasoningType, opaqueType}
	return nil, fmt.Errorf("type %q is unknown: the types are %s", kind, commas(types))
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

func (o object) onlyText() (string, error) {
	if err := o.only("type", "text"); err != nil {
		return "", err
	}
	return o.text("text")
}

func (o object) toolResult() (backends.Part, error) {
	var result backends.ToolResult
	err := o.only("type", "tool_use_id", "content", "is_error")
	if err != nil {
		return nil, err
	}
	if result.CallID, err = o.text("tool_use_id"); err != nil {
		return nil, err
	}
	if result.Content, err = o.text("content"); err != nil {
		return nil, err
	}
	if o["is_error"] != nil {
		result.IsError, err = o.flag("is_error")
	}
	return result, err
}

func (o object) opaque() (backends.Part, error) {
	var opaque backends.Opaque
	err := o.only("type", "provider", "model", "data")
	if err != nil {
		return nil, err
	}
	if opaque.Provider, err = o.text("provider"); err != nil {
		return nil, err
	}
	if opaque.Model, err = o.text("model"); err != nil {
		return nil, err
	}
	if opaque.Data = o["data"]; opaque.Data == nil {
		return nil, errors.New("data is missing")
	}
	return opaque, nil
}

func (o object) image() (backends.Part, error) {
	if err := o.only("type", "source"); err != nil {
		return nil, err
	}
	image, err := readSource(o["source"])
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return image, nil
}

func readSource(raw json.RawMessage) (backends.Image, error) {
	var image backends.Image
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return image, errors.New("it is not an object")
	}
	kind, err := o.text("type")
	switch {
	case err != nil:
		return image, err
	case kind == "url":
		if err := o.only("type", "url"); err != nil {
			return image, err
		}
		image.URL, err = o.text("url")
		return image, err
	case kind != "base64":
		return image, fmt.Errorf("type %q is unknown: the types are base64 and url", kind)
	}
	if err := o.only("type", "media_type", "data"); err != nil {
		return image, err
	}
	if image.MediaType, err = o.text("media_type"); err != nil {
		return image, err
	}
	data, err := o.text("data")
	if err != nil {
		return image, err
	}
	if image.Data, err = base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		return image, errors.New("data is not base64")
	}
	return image, nil
}

func commas(words []string) string { return strings.Join(words, ", ") }
