// Package postgres is the store of sessions in a PostgreSQL database, which the
// workers of several machines share. It does as sessions/sqlite does.
//
// What a turn may not lose is one transaction: an event with the names of its
// texts, the winner with its answer. It is committed when the call returns.
//
// A session is held by a lease: a row of the table holds with an owner and the time,
// by the server's clock, until which it lasts. Every write of a turn first finds, and
// locks, its owner's row, in its own transaction. So of two that believe they hold a
// session, since the network has parted one from the server for longer than its lease,
// one can write, and the other is told. Owners prolong their leases a few times in the
// time that one lasts, and with each write. One that dies is rid of its sessions when
// its lease is over, and one that closes its store at once. A lease that is over and
// that nobody else has taken is still its owner's: a server that was away for long
// costs no turn. A lease that ends later than its length from now was prolonged while
// the server's clock was ahead. Whoever wants that session ends the lease after its
// length, unless its owner prolongs it.
//
// An advisory lock would be free at once when its holder dies. But it belongs to one
// connection: it is lost with that while the holder is well, it does not stop a holder
// that is parted from the server, and a turn whose steps run on several workers could
// not be held by all of them. Here they are one owner (Store.As), and hold it together.
//
// Texts are shared from the moment they are put, so that one worker can name what
// another has put. Transactions that name texts share a lock, and those that forget
// texts take it alone, so that no text goes that is about to be named.
//
// The limits of use of a provider and key are kept here too (Store.Limiter), for all that
// have the database open.
package postgres
