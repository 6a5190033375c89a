// Package machine runs one agent's step: a model call, the tool calls that the model requests,
// their results, and again, until the agent acts with new_answer or vote. Like the kernel it is
// pure: an event goes in, commands come out, texts are references. It holds rule 7 of
// coordination (DESIGN §4) and the tool loop of seed 004. The step's offer has the kernel's
// decision about which acts are allowed.
//
// A Step is not safe for concurrent use: one goroutine owns it.
package step
