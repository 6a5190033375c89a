// Package coordinator puts a question to a panel of agents: it runs the pure machines of
// package turn with goroutines. It applies each event to the turn's machine, journals it, and only
// then carries out what follows from it.
//
// A Panel holds the agents and the rules. Start begins a turn of a session and returns a handle
// at once, with the methods Wait, Events and Cancel. See the example of Panel.
package coordinator
