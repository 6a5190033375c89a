// Package tokens counts the tokens of texts, messages and requests before they
// are sent: with the model's own tokenizer where there is one, else by an estimate
// that says so (DESIGN §6).
package tokens
