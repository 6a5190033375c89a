// Package prices says what models cost and how much they can read and write: a
// dated table of facts, which a config can change. What is not known is unknown,
// never zero.
package prices
