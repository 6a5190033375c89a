// Package openai calls every service that speaks OpenAI's chat completions
// protocol, over github.com/sashabaranov/go-openai.
//
// That library (1.43) loses things on the way: it drops a temperature of 0 and
// an empty tool result from the request, knows no extra fields for chat, ends a
// cut stream like a complete one, dies of keep-alive comments, and hides errors
// and web pages that come with status 200. So this package makes the body
// (request.go) and reads the events (chunk.go) itself, over package wire; the library
// knows the address and the headers, and sends the request.
//
// A dialect whose API is "responses" is spoken over OpenAI's Responses API instead, in
// the same way (responses.go, items.go): the library's items would drop what it does not
// know, and reasoning has to go back unchanged.
package openai
