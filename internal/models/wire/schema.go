package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/massgen/massgen/backends"
)

// ToolSchema returns the schema of a tool's arguments as it stands. A tool without a
// schema takes no arguments. It fails if the schema is not JSON.
func ToolSchema(t backends.Tool) (json.RawMessage, error) {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if !json.Valid(t.Schema) {
		return nil, fmt.Errorf("the schema of tool %q is not JSON", t.Name)
	}
	return t.Schema, nil
}

// CheckReplySchema fails if the schema of a reply is not JSON.
func CheckReplySchema(schema json.RawMessage) error {
	if !json.Valid(schema) {
		return errors.New("the schema of the reply is not JSON")
	}
	return nil
}

// IsImage reports whether a part is an image or a file, which no text can replace.
func IsImage(p backends.Part) bool {
	switch p.(type) {
	case backends.Image, backends.File:
		return true
	}
	return false
}
