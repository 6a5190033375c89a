// Package sqlite is the store of sessions on disk: one SQLite file, which several
// processes may use at once.
//
// What a turn may not lose is one transaction. An event is on disk when Append
// returns, together with the texts that it names, and so are the winner and its
// answer when End or EndWith does: the file is in WAL mode and every commit is synced, so
// that this holds for a process that is killed and for a machine that loses
// power. Texts that no event names yet are only in memory.
//
// A running turn holds a lock of the operating system on a file beside the
// store's, which the system frees when the process ends, however it ends. A lock
// in the database could not tell a turn that runs from one whose process was
// killed.
package sqlite
