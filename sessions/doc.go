// Package sessions keeps conversations: their turns, the journal of each turn, and the texts
// that both refer to. It has the types that all stores share, and NewMemory, a store that lives
// as long as the process. internal/storage/sqlstore keeps them in SQL databases, for sessions/sqlite
// and temporal/postgres. All stores pass the suite tests/storetest.
//
// A session's history is a chain. Each turn with an answer adds a Link, a text of fixed size
// that names the link before it, the question and the answer. So a turn's storage does not grow
// with the session, an old input is built from the link that it named, whatever came later, and
// a branch is a session whose newest link is another session's.
package sessions
