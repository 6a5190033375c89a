// Package engine plays turns on Temporal, so that a turn goes on when the processes that work
// on it die (DESIGN §6). One workflow is one turn: it is a runtime of the driver that plays
// turns in one process too, and each effect is an activity of a worker. Turns of a session are
// workflows under one id, one after the other, so that a second turn of a session is refused. A
// turn whose history grows long goes on as a new run of its workflow.
//
// The history of the workflow is the truth. The journal in the shared store is written from it
// while effects run, each batch of events by one activity, and is whole before the turn is concluded;
// turns of the older form write it before anything follows. Only the question, the client's instructions,
// notes, and references to texts (machine.Turn, effects, replies) pass through Temporal; a test
// keeps them small.
//
// The agents' tools run on one worker, the home, since their files are there. If it is lost, so
// are they, and each call says so.
//
// An activity is one try, and only waits for its effect (inFlight), whose result is stored. A
// worker announces an effect to the server before it begins it: the server may give an activity
// to a worker that never hears of it, and then nothing was begun. A silent worker is asked for
// the result before it counts as lost. Then the workflow repeats the effect on any worker: a
// model call that was under way counts as one that may be paid for twice, and a tool is not
// called again. Retries within a call are those of package internal/models/retry, and each attempt
// asks the workflow for its share of the budget, by an update.
package engine
