// Package turn joins the kernel and one step machine per agent into the pure machine of a whole
// turn. Its input is the journal: the accepted turn, the results of effects, the clock and a
// person's messages. Its output is the effects to run. Every engine runs this machine, and
// feeding a journal to a fresh one gives the same commands again (DESIGN §1).
package turn
