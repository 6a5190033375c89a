// Package textcall reads tool calls that a model wrote into its text. A server that does not know its model's
// markup passes it on as text, and small models write calls as they saw them in training. The package is pure,
// and reads calls of given tools only.
package textcall
