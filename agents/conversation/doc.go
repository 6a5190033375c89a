// Package conversation holds conversations with one model, outside of a panel: the
// caller keeps the conversation, hands it in, and gets it back extended (seed 001).
// Think makes one model call; Exec is the tool loop around it. Both run the step
// and the effects that a panel of one runs, with nothing journaled.
package conversation
