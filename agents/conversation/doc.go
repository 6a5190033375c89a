// Package conversation holds conversations with one model, outside of a panel: the
// caller keeps the conversation, hands it in, and gets it back extended (seed 001).
// Think makes one model call, and Exec is the tool loop around it. Both run the step
// and the effects of a panel of one, without a journal.
package conversation
