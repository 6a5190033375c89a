package engine

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/massgen/massgen/sessions"
)

// database identifies the database that a worker or a client keeps sessions in, from Options.
type database struct{ id, place string }

func (d database) String() string { return fmt.Sprintf("%s (id %s)", d.place, d.id) }

// queueOf returns the queue for turns of one config and one database. A worker with another
// config or another database does not listen there.
func (e *Engine) queueOf(config string) string {
	if e.database.id == "" {
		return e.commonQueueOf(config)
	}
	return e.commonQueueOf(config) + "/" + e.database.id
}

// byTexts returns the queue of turns by texts that belongs to a queue of queueOf: workers that do not
// know this form do not listen there.
func byTexts(queue string) string { return queue + "/texts" }

// commonQueueOf returns the queue for turns of a config that name no database: those of clients
// before version 5 of the store. Workers of all databases listen there.
func (e *Engine) commonQueueOf(config string) string { return e.queue + "/" + config }

// databaseMark stands before the database in the identity of a worker.
const databaseMark = ", database "

// identity is the name under which a worker listens to the common queue. It names the database,
// for clients with another one. It begins with Temporal's default identity.
func (d database) identity() string { return fmt.Sprint(processName(), databaseMark, d) }

// processName names this process, with its machine.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// foreignWorkers returns the reason why workers of the common queue do not play turns of this
// database. It returns nil if none of the workers has another database.
func (e *Engine) foreignWorkers(workers []*taskqueue.PollerInfo) (err error) {
	for _, w := range workers {
		_, theirs, ok := strings.Cut(w.GetIdentity(), databaseMark)
		switch {
		case !ok:
			err = fmt.Errorf("the workers of the queue %s of Temporal at %s are of an older version, which does not say what database they have: start them again with the version of this program", e.queue, e.address)
		case !strings.Contains(theirs, e.database.id): // the server still lists workers that ended a moment ago
			return fmt.Errorf("the workers of the queue %s of Temporal at %s have the database %s, and this program has %s: give them and this program the same (--database), or use a queue for each (--temporal-queue)", e.queue, e.address, theirs, e.database)
		}
	}
	return err
}

// isForeign reports whether a workflow is a turn of another database.
func (e *Engine) isForeign(found *workflowservice.DescribeWorkflowExecutionResponse) bool {
	return e.database.id != "" && cmp.Or(memoOf(found, databaseMemo), e.database.id) != e.database.id
}

// foreignTurn is the refusal of a session whose name a turn of another database uses.
type foreignTurn struct{ session, queue string }

func (f foreignTurn) Error() string {
	return fmt.Sprintf("a turn of another database has the session %q on the queue %s: use the database of that turn (--database), another session, or a queue for each database (--temporal-queue)", f.session, f.queue)
}

// Is implements errors.Is: to callers, this database has no such turn.
func (foreignTurn) Is(target error) bool { return target == sessions.ErrNoSession }
