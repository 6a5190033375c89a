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

// Store is what a worker needs of the store that all share, for one owner of its sessions;
// temporal/postgres is one.
type Store interface {
	coordinator.Store
	shared
	results
}

// shared is what is held for an owner who is at work in several processes.
type shared interface {
	Held(ctx context.Context, session string) (begun sessions.Begun, held bool, err error)
	AppendAt(ctx context.Context, session string, turn, place int, events ...[]byte) error
	// AtWork keeps a session that is held from being taken by others until rest is called.
	AtWork(session string) (rest func())
}

// results are the results of turns and of their effects.
type results interface {
	Turns(ctx context.Context, session string, last int) ([]sessions.Turn, error)
	// KeepResult stores the result of an effect while the session is held, and returns the one
	// that counts: the first. Result returns that, nil if there is none.
	KeepResult(ctx context.Context, session string, turn int, key string, result []byte) (stands []byte, err error)
	Result(ctx context.Context, session string, turn int, key string) ([]byte, error)
}

// mostCancelDelay is how long a call may go on that was cancelled, as a worker learns of it
// by its heartbeat.
const mostCancelDelay = 5 * time.Second

// When a worker is told to end, what it has under way may go on for endGrace. What has come
// to nothing by then is cut, and giveBackTime is how long the server may take to hear of it.
const (
	endGrace     = time.Second
	giveBackTime = 5 * time.Second
)

// errEnds is why a worker that is told to end cuts what it has under way.
var errEnds = errors.New("the worker is told to end")

// Work takes part in the turns of all who use the engine's queue, until ctx is done, with
// a panel of the same agents. As returns the store for an owner. It returns when what it
// has begun has ended or was given back.
func (e *Engine) Work(ctx context.Context, panel *coordinator.Panel, as func(owner string) Store) error {
	options := worker.Options{
		MaxHeartbeatThrottleInterval: mostCancelDelay, DefaultHeartbeatThrottleInterval: mostCancelDelay,
		WorkerStopTimeout: endGrace + giveBackTime,
	}
	w := worker.New(e.client, e.queueOf(panel.Config()), options)
	server := temporalServer{e.client}
	h := &activities{panel: panel, as: as, server: server, workflows: server, home: e.queue + "/worker/" + rand.Text()}
	defer h.inFlight.end()
	h.register(w)
	common := options
	common.Identity = e.database.identity()
	options.DisableWorkflowWorker = true
	home := worker.New(e.client, h.home, options)
	home.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	// Nobody asks for anything here: it shows that there are workers, also to those with another
	// config. It is the last to start.
	shown := worker.New(e.client, e.queue, options)
	shown.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	list := []worker.Worker{home, w, shown}
	if e.database.id != "" { // turns of older clients, and those that older workers have begun, name none
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
		defer stopping.Go(starts.Stop) // all at once
	}
	<-ctx.Done()
	return nil
}

// register has a worker play turns, and do all that their workflows ask for.
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
