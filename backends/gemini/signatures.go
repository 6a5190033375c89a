package gemini

import (
	"encoding/json"
	"slices"
	"strings"
)

// A thought signature belongs to the part that it came with and has to go back
// with it, unchanged (https://ai.google.dev/gemini-api/docs/thought-signatures).
// Gemini 3 signs the first of the calls of a message, or the last part, which may
// be an empty text; it refuses a request in which a call of the present turn
// lacks its signature.

// restore puts a kept part back where it was: after the parts that came before
// it. A signature alone belongs to the call before it, if that call has no signature.
func restore(parts []any, kept json.RawMessage) []any {
	var p part
	if err := json.Unmarshal(kept, &p); err != nil {
		return parts // it was not kept by this package
	}
	if isSignatureOnly(kept) {
		if call := lastPart(parts); call != nil && call.FunctionCall != nil && call.ThoughtSignature == "" {
			call.ThoughtSignature = p.ThoughtSignature
			return parts
		}
		empty := textPart("")
		empty.ThoughtSignature = p.ThoughtSignature
		return append(parts, empty)
	}
	if p.Text != nil && *p.Text != "" && !p.Thought {
		// The text was joined with what came before it.
		last := lastPart(parts)
		if last == nil || last.Text == nil {
			return parts
		}
		before, ok := strings.CutSuffix(*last.Text, *p.Text)
		if !ok {
			return parts // somebody changed the text: the signature is no longer its own
		}
		last.Text = &before
		if before == "" {
			parts = parts[:len(parts)-1]
		}
	}
	return append(parts, kept)
}

func isSignatureOnly(kept json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(kept, &fields) == nil && len(fields) == 1 && fields["thoughtSignature"] != nil
}

func lastPart(parts []any) *part {
	if len(parts) == 0 {
		return nil
	}
	last, ok := parts[len(parts)-1].(*part)
	if !ok {
		return nil
	}
	return last
}

// foreignSignature is what the documentation gives for calls that another model
// made: it takes the place of a signature.
const foreignSignature = "skip_thought_signature_validator"

// needsSignatures reports whether a model refuses calls without a signature: the
// Gemini models do, from version 3 on.
func needsSignatures(model string) bool {
	return strings.Contains(model, "gemini") && !isOlder(model)
}

// isOlder reports whether model is a Gemini before version 3.
func isOlder(model string) bool {
	return strings.Contains(model, "gemini-1") || strings.Contains(model, "gemini-2")
}

// signForeignCalls signs the first call of each message of the present turn that
// has no signature at all: what this model signed goes back as it came. The turn
// begins with the last content of the user that is no result of a call.
func signForeignCalls(contents []content) {
	for i := len(contents) - 1; i >= 0; i-- {
		if contents[i].Role == roleUser && !hasResult(contents[i]) {
			return
		}
		if call := firstCall(contents[i]); call != nil && !isSigned(contents[i]) {
			call.ThoughtSignature = foreignSignature
		}
	}
}

func hasResult(c content) bool {
	return slices.ContainsFunc(c.Parts, func(p any) bool {
		made, ok := p.(*part)
		return ok && made.FunctionResponse != nil
	})
}

// isSigned reports whether a content has a signature or a kept part.
func isSigned(c content) bool {
	return slices.ContainsFunc(c.Parts, func(p any) bool {
		made, ok := p.(*part)
		return !ok || made.ThoughtSignature != ""
	})
}

func firstCall(c content) *part {
	for _, p := range c.Parts {
		if made, ok := p.(*part); ok && made.FunctionCall != nil {
			return made
		}
	}
	return nil
}
