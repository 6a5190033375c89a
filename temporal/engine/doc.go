// Package engine plays turns on Temporal, so that the processes that work on one may die
// while it goes on (DESIGN §6). One workflow is one turn: it is a runtime of the driver that
// plays turns in one process too, and each effect is an activity of a worker. A session of
// many turns is as many workflows, one after the other under one id, so that a second turn of
// a session is refused; a turn whose history grows long goes on as a new run of its workflow.
//
// The history of the workflow is the truth. The journal is written from it into the store
// that all workers share, each batch of events by one activity, before anything follows from
// it. What passes through Temporal are the question, notes, and references to texts
// (machine.Turn, effects, replies), which the test of sizes keeps small.
//
// The tools of agents are called on one worker, the home, since what they make is there. When
// it is lost, so are they, and each call says so.
//
// An activity is tried once, and only waits for its effect (inFlight), whose result is kept
// in the store. A worker announces an effect to the server before it begins it: the server
// may give an activity to a worker that never hears of it, and then nothing was begun. A worker of which nothing is heard is asked for the result before it counts
// as lost. Then the workflow has the effect done again, by any worker: a model call
// that was under way is counted as one that may be paid for twice, and a tool is not called
// again. The attempts within a call are those of package internal/retry, and each asks the
// workflow for its share of the budget, by an update.
package engine
