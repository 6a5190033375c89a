// Package effect is the vocabulary of the journal. It describes a turn, from which every input is
// built; the effects, which are model calls and tool calls, each with a Key; and their results. Texts
// are references. The packages step and turn decide which effects to run, and package agents runs
// them. All of it is pure.
package effect
