// Package step runs one agent's step: a model call, the tool calls that the model requests, their
// results, and again, until the agent acts with new_answer or vote. Like the kernel, its Machine is
// pure: results and the kernel's commands go in, effects come out. It has rule 7 of coordination
// (DESIGN §4) and the tool loop of seed 004. The kernel decides which acts are allowed, by the step's
// offer.
//
// A Machine is not safe for concurrent use: one goroutine owns it.
package step
