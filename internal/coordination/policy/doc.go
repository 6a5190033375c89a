// Package policy decides how much of a conversation's history a model is shown,
// and when people are warned that it nears the end of a model's context window. It
// counts messages and tokens and sees no text: package contextbuild measures the
// turns and builds what was decided. All of it is pure.
//
// A message is a question, an answer, a message with tool calls, or one with their
// results. A message with calls and that with their results are never parted.
package policy
