// Package policy decides how much of a conversation's history a model receives, and
// when to warn people that it nears the end of a model's context window. It counts
// messages and tokens and sees no text: package contextbuild measures the turns and
// builds the chosen part. All of it is pure.
//
// A message is a question, an answer, a message with tool calls, or a message with
// their results. Calls and their results stay together.
package policy
