// Package prices has what models cost and how much they can read and write: a dated
// table of facts, which a config can change. What is not known is unknown, never zero.
// It also counts the tokens of texts, messages and requests before they are sent: with
// the model's own tokenizer where there is one, else by an estimate, marked as such
// (DESIGN §6).
package prices
