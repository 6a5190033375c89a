// Package engine plays turns on Temporal, so that the processes that work on one may die
// while it goes on (DESIGN §6). One workflow is one turn: it feeds the same machine as the
// local engine, and each effect is an activity of a worker. A session of many turns is as
// many workflows, one after the other under one id, so that a second turn of a session is
// refused; a turn whose history grows long goes on as a new run of its workflow.
//
// The journal is in the store that all workers share, and its texts too: what passes
// through Temporal are references (machine.Turn, effects, replies), which the test of sizes
// keeps small. Each event is in the journal before the machine is fed it, written by a
// local activity at its place (postgres.Store.AppendAt), so that doing that again changes
// nothing.
//
// The tools of agents are called on one worker, the home, since what they make is there. It
// marks their folders (workspace.Mark). When it is lost, others are asked whether they see
// the marks, and one that does is the new home; agents whose folders nobody sees are told so
// in place of results.
//
// An activity is tried once. A worker that is lost is known by its heartbeat, and the
// workflow has the effect done again, by whoever takes it: a model call that was under way
// is counted as one that may be paid for twice, and a tool that may do twice what it does
// is not called again. The attempts within a call are those of package backends/retry,
// and each asks the workflow for its share of the budget, by an update.
package engine
