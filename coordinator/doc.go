// Package coordinator puts a question to a panel of agents: it runs the pure machines of
// package turn with goroutines, journals every event before it applies it, and returns the
// result.
//
// A Panel holds the agents and the rules. Start begins a turn of a session and returns a handle
// at once, with the methods Wait, Events and Cancel. See the example of Panel.
package coordinator
