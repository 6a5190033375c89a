package effect

import "github.com/massgen/massgen/internal/system/blob"

// Sent is the record of a model call's input. No machine reads it. It is journaled so that a
// replay, perhaps by another program, can check that it builds the same input, and can show the
// recorded one (DESIGN §6).
type Sent struct {
	// Digest is the digest of the backends.Request.
	Digest string `json:"digest"`
	Model  string `json:"model"`
	// Params is the JSON of backends.Params without headers and extra body, Tools that of
	// a list of backends.Tool, Schema is the schema of the reply.
	Params blob.Ref `json:"params"`
	Tools  blob.Ref `json:"tools,omitzero"`
	Schema blob.Ref `json:"schema,omitzero"`
	// Messages are each the JSON of a backends.Message, without the history.
	Messages []blob.Ref `json:"messages"`
	// History is the newest part of the history as the model read it, zero if there was none;
	// package agents has its form. It stands before message number Message, from 0, or, if its
	// parts are texts, at byte Byte of that message's text.
	History blob.Ref `json:"history,omitzero"`
	Message int      `json:"message,omitempty"`
	Byte    int      `json:"byte,omitempty"`
	// Older are older parts of the history that were first stored with this call, named
	// here for the store.
	Older []blob.Ref `json:"older,omitempty"`
}
