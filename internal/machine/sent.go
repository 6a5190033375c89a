package machine

import "github.com/massgen/massgen/internal/blob"

// Sent is what a model call was sent. No machine reads it: it is journaled so that who
// replays the journal, perhaps with another program, can tell whether that builds the
// same input, and can show the one that was sent (DESIGN §6).
type Sent struct {
	// Digest is that of the backends.Request.
	Digest string `json:"digest"`
	Model  string `json:"model"`
	// Params is the JSON of backends.Params without headers and extra body, Tools that of
	// a list of backends.Tool, Schema is the schema of the reply.
	Params blob.Ref `json:"params"`
	Tools  blob.Ref `json:"tools,omitzero"`
	Schema blob.Ref `json:"schema,omitzero"`
	// Messages are each the JSON of a backends.Message, without the history.
	Messages []blob.Ref `json:"messages"`
	// History is the newest part of the history as it was told, zero if there was none;
	// its form is that of package agents. It stands before message number Message, from
	// 0, or, if its parts are texts, at byte Byte of that message's text.
	History blob.Ref `json:"history,omitzero"`
	Message int      `json:"message,omitempty"`
	Byte    int      `json:"byte,omitempty"`
	// Older are older parts of the history that were first stored with this call, named
	// here for the store.
	Older []blob.Ref `json:"older,omitempty"`
}
