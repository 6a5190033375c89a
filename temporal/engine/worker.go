package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// Store is the part of the shared store that a worker needs, for one owner of its sessions;
// temporal/postgres has one.
type Store interface {
	coordinator.Store
	Held(ctx context.Context, session string) (begun sessions.Begun, held bool, err error)
	AppendAt(ctx context.Context, session string, turn, place int, events ...[]byte) error
	// AtWork keeps other owners from taking a held session until rest is called.
	AtWork(session string) (rest func())
	Turns(ctx context.Context, session string, last int) ([]sessions.Turn, error)
	// KeepResult stores the result of an effect while the session is held, and returns the
	// first stored one, which counts. Result returns it, or nil if there is none.
	KeepResult(ctx context.Context, session string, turn int, key string, result []byte) (stands []byte, err error)
	Result(ctx context.Context, session string, turn int, key string) ([]byte, error)
}

// mostCancelDelay is how long a cancelled call may go on, since a worker learns of the
// cancellation by its heartbeat.
const mostCancelDelay = 5 * time.Second

// When a worker shuts down, its calls may go on for endGrace. Then it cuts those without a
// result, and giveBackTime is how long the server may take to receive that.
const (
	endGrace     = time.Second
	giveBackTime = 5 * time.Second
)

// errEnds is the reason with which a worker that shuts down cuts its calls.
var errEnds = errors.New("the worker is told to end")

// Work takes part in the turns on the engine's queue, until ctx is done, with a panel of the
// same agents. as returns the store for an owner. Work returns when its work has ended or was
// returned to the server.
func (e *Engine) Work(ctx context.Context, panel *coordinator.Panel, as func(owner string) Store) error {
	options := worker.Options{
		MaxHeartbeatThrottleInterval: mostCancelDelay, DefaultHeartbeatThrottleInterval: mostCancelDelay,
		WorkerStopTimeout: endGrace + giveBackTime, DeploymentOptions: e.build,
	}
	w := worker.New(e.client, e.queueOf(panel.Config()), options)
	server := temporalServer{e.client}
	h := &activities{panel: panel, as: as, server: server, workflows: server, home: e.queue + "/worker/" + rand.Text()}
	defer h.inFlight.end()
	h.register(w)
	common := options
	common.Identity = e.database.identity()
	options.DisableWorkflowWorker, options.DeploymentOptions = true, worker.DeploymentOptions{}
	home := worker.New(e.client, h.home, options)
	home.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	// No task comes here: the queue only shows that there are workers, also to clients with
	// another config. It starts last.
	shown := worker.New(e.client, e.queue, options)
	shown.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	list := []worker.Worker{home, w, shown}
	if e.database.id != "" { // turns of older clients, or begun by older workers, name no database
		unnamed := worker.New(e.client, e.commonQueueOf(panel.Config()), common)
		h.register(unnamed)
		list = []worker.Worker{home, w, unnamed, shown}
	}
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for _, starts := range list {
		if err := starts.Start(); err != nil {
			return fmt.Errorf("work for the queue %s of Temporal at %s: %w", e.queue, e.address, err)
		}
		defer stopping.Go(starts.Stop) // all in parallel
	}
	<-ctx.Done()
	return nil
}

// register makes a worker play turns, and run the activities of their workflows.
func (h *activities) register(w worker.Worker) {
	w.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	for name, run := range map[string]any{
		prepareName: h.prepare, performName: h.perform, journalName: h.journal, concludeName: h.conclude, finishName: h.finish, leaveName: h.leave,
		keepNoteName: h.keepNote,
		keepName:     h.keep,
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}
