// Package coordinator puts a panel of agents on a question: it runs the pure
// machines of package turn with goroutines, journals every event before it is
// applied, and hands out the result.
//
// A Panel holds the agents and the rules. Start begins a turn of a session and
// returns a handle at once; Wait, Events and Cancel are the handle's. See the
// example of Panel.
package coordinator
