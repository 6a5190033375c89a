package debugbackend

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// callFormat marks a file as a call, with the version of its form.
const callFormat = "massgen-input/1"

// callFile is the form of a Call in a file.
type callFile struct {
	Format string `json:"format"`
	plainCall
	Error *errorFile `json:"error,omitempty"`
}

// plainCall is a Call without its methods.
type plainCall Call

type errorFile struct {
	Kind       backends.Kind       `json:"kind"`
	Provider   string              `json:"provider"`
	Message    string              `json:"message"`
	Status     int                 `json:"status,omitempty"`
	RetryAfter string              `json:"retry_after,omitempty"`
	Begun      bool                `json:"begun"`
	Cut        []backends.ToolCall `json:"cut,omitempty"`
}

// exactBytes is written as a string if it is valid UTF-8, or else as {"base64": "…"}. Reading returns the
// same bytes.
type exactBytes []byte

type base64Bytes struct {
	Base64 []byte `json:"base64"`
}

func (b exactBytes) MarshalJSON() ([]byte, error) {
	switch {
	case b == nil:
		return []byte("null"), nil
	case utf8.Valid(b):
		return plain.JSON(string(b))
	}
	return plain.JSON(base64Bytes{b})
}

func (b *exactBytes) UnmarshalJSON(data []byte) error {
	*b = nil
	if string(data) == "null" {
		return nil
	}
	if data[0] == '{' {
		var in base64Bytes
		err := json.Unmarshal(data, &in)
		*b = in.Base64
		return err
	}
	var text string
	err := json.Unmarshal(data, &text)
	*b = []byte(text)
	return err
}

// MarshalJSON writes the form that LoadDir reads. The bodies keep every byte. Invalid UTF-8 in other texts
// is lost, and JSON within them (schemas, opaque parts) loses its white space.
func (c Call) MarshalJSON() ([]byte, error) { return plain.JSON(c.file()) }

func (c Call) file() callFile {
	f := callFile{Format: callFormat, plainCall: plainCall(c)}
	if f.Events == nil {
		f.Events = []seenEvent{}
	}
	if e := c.Error; e != nil {
		f.Error = &errorFile{Kind: e.Kind, Provider: e.Provider, Message: e.Message, Status: e.Status, Begun: e.Begun, Cut: e.Cut}
		if e.RetryAfter != 0 {
			f.Error.RetryAfter = e.RetryAfter.String()
		}
	}
	return f
}

// UnmarshalJSON reads the form of MarshalJSON. JSON of another kind or version is an error.
func (c *Call) UnmarshalJSON(data []byte) error {
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch head.Format {
	case callFormat:
	case "":
		return errors.New("it is not the record of a model call")
	default:
		return fmt.Errorf("its format is %q, and this program reads %q", head.Format, callFormat)
	}
	var f callFile
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f.Number < 1 || f.Start.IsZero() {
		return errors.New("it is incomplete: it has no number or no time")
	}
	if slices.ContainsFunc(f.Events, func(e seenEvent) bool { return e.Event.Event == nil }) {
		return errors.New("it has an event without a type")
	}
	*c = Call(f.plainCall)
	if len(c.Events) == 0 {
		c.Events = nil
	}
	return c.readError(f.Error)
}

func (c *Call) readError(f *errorFile) error {
	if f == nil {
		return nil
	}
	c.Error = &backends.Error{Kind: f.Kind, Provider: f.Provider, Message: f.Message, Status: f.Status, Begun: f.Begun, Cut: f.Cut}
	if f.RetryAfter == "" {
		return nil
	}
	var err error
	c.Error.RetryAfter, err = time.ParseDuration(f.RetryAfter)
	return err
}
