package openai

import (
	"bytes"
	"encoding/json"
)

// extras are fields beside a call, its function or a message that their service wants back unchanged. Google's
// endpoint for OpenAI's protocol puts the signature of a thought into extra_content ("Thought signatures" in its
// guides). LiteLLM uses provider_specific_fields, and other proxies thought_signature.
type extras struct {
	ExtraContent     extra `json:"extra_content,omitempty"`
	ProviderFields   extra `json:"provider_specific_fields,omitempty"`
	ThoughtSignature extra `json:"thought_signature,omitempty"`
}

// extra is the JSON of such a field. It is empty if the field holds nothing.
type extra json.RawMessage

// MarshalJSON returns the JSON as it came.
func (e extra) MarshalJSON() ([]byte, error) { return e, nil }

// UnmarshalJSON never fails. It keeps no null, and no empty text or object.
func (e *extra) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "null", "{}", "[]", `""`:
		*e = nil
	default:
		*e = bytes.Clone(data)
	}
	return nil
}

// isSigned reports whether the JSON has a signature.
func (e extra) isSigned() bool { return bytes.Contains(e, []byte("signature")) }

// add takes the fields of another piece. Pieces repeat a field or leave parts of it out, so the longest counts.
func (x *extras) add(more extras) {
	for _, field := range []struct {
		have *extra
		came extra
	}{
		{&x.ExtraContent, more.ExtraContent}, {&x.ProviderFields, more.ProviderFields}, {&x.ThoughtSignature, more.ThoughtSignature},
	} {
		if len(field.came) > len(*field.have) {
			*field.have = field.came
		}
	}
}

// addSigned is add for the fields of a message, which count only with a signature.
func (x *extras) addSigned(more extras) {
	for _, field := range []*extra{&more.ExtraContent, &more.ProviderFields, &more.ThoughtSignature} {
		if field != &more.ThoughtSignature && !field.isSigned() {
			*field = nil
		}
	}
	x.add(more)
}

func (x extras) isEmpty() bool {
	return len(x.ExtraContent)+len(x.ProviderFields)+len(x.ThoughtSignature) == 0
}

// keptCall has the fields that go back beside a call and its function.
type keptCall struct {
	extras
	Function extras `json:"function,omitzero"`
}

func (c *keptCall) add(more keptCall) {
	c.extras.add(more.extras)
	c.Function.add(more.Function)
}

func (c keptCall) isEmpty() bool { return c.extras.isEmpty() && c.Function.isEmpty() }

// foreignSignature is what Google's documentation gives for calls that another model made.
const foreignSignature = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// signForeign signs the first call of a message that has no signature at all.
func signForeign(calls []toolCall) {
	for _, c := range calls {
		if !c.isEmpty() || !c.Function.isEmpty() {
			return
		}
	}
	if len(calls) > 0 {
		calls[0].ExtraContent = extra(foreignSignature)
	}
}
