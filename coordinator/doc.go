// Package coordinator puts a question to a panel of agents. It runs the pure machines of package turn:
// one goroutine owns a turn, and each call is a job in a goroutine of its own. The turn's goroutine
// applies each event to the machine, journals it, and only then executes the machine's commands.
//
// A Panel holds the agents and the rules. Start begins a turn of a session and returns a handle
// at once, with the methods Wait, Events and Cancel. See the example of Panel.
package coordinator
