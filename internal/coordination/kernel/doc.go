// Package kernel decides which agent does what next in one turn of a panel. It is a pure
// machine that takes one event at a time and answers with commands. It holds the
// rules of coordination (DESIGN §4) and nothing else: no goroutine, clock,
// random, map iteration, logger or I/O. Time, order and texts reach it as
// fields of events, texts only as references.
//
// Each function names its rule, and each rule has a script in testdata. The same Machine
// runs under goroutines, in a Temporal workflow, in the simulator and in a replay: the
// same events give the same commands.
//
// A Machine is not safe for concurrent use: one goroutine owns it.
package kernel
