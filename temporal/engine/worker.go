package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/blob"
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
	// Mask returns data as the store keeps it.
	Mask(data []byte) []byte
	// KeepResults stores results of effects by their keys while the session is held, with texts, and
	// returns the first stored ones, which count. Results returns these, and whether the session is
	// held for the turn.
	KeepResults(ctx context.Context, session string, turn int, results map[string][]byte, texts [][]byte) (stand map[string][]byte, err error)
	Results(ctx context.Context, session string, turn int, keys []string) (stand map[string][]byte, held bool, err error)
}

// Texts are the texts of a Store, many at once. postgres.TextsOf returns them.
type Texts interface {
	// PutAll stores texts, and GetAll returns those of the texts that are stored.
	PutAll(ctx context.Context, texts [][]byte) ([]blob.Ref, error)
	GetAll(ctx context.Context, refs []blob.Ref) (map[blob.Ref][]byte, error)
}

// mostCancelDelay is how long a cancelled call may go on, since a worker learns of the
// cancellation by its heartbeat.
const mostCancelDelay = 5 * time.Second

// When a worker shuts down, activities without a call have endGrace, and giveBackTime is how
// long the server may take to receive the results of all.
const (
	endGrace     = time.Second
	giveBackTime = 5 * time.Second
)

// ownQueue is in the name of a queue to which one worker alone listens.
const ownQueue = "/worker/"

// errEnds is the reason with which a worker that shuts down cuts its calls.
var errEnds = errors.New("the worker is told to end")

// WorkOptions are the options of a worker.
type WorkOptions struct {
	// Store returns the store for an owner.
	Store func(owner string) Store
	// Texts are the texts of these stores, for all owners.
	Texts Texts
	// Signs are the signs of life of all workers. IsSigned says that this worker shows one, for
	// which its connection to the database must be its own.
	Signs    Signs
	IsSigned bool
	Drain    Drain
	// Model is the name of the panel in metrics.
	Model string
	// Traces gets the effects that the worker performs; nil for none.
	Traces *telemetry.Exporter
}

// Work takes part in the turns on the engine's queue, with a panel of the same agents, until
// ctx is done. Then it takes no more work, and returns when the drain is over, and its work has
// ended or was returned to the server.
func (e *Engine) Work(ctx context.Context, panel *coordinator.Panel, o WorkOptions) error {
	e.observer.works(o.Model, o.Traces)
	server := temporalServer{e.client, e.observer}
	h := &activities{
		panel: panel, as: o.Store, texts: o.Texts, server: server, workflows: server, signs: o.Signs, home: e.queue + ownQueue + rand.Text(), observer: e.observer,
	}
	if o.IsSigned {
		h.home += signedEnd
		hide, err := o.Signs.Show(ctx, h.home)
		if err != nil {
			return fmt.Errorf("work: %w", err)
		}
		defer hide()
	}
	broken := make(chan error, 1)
	large, err := e.withLargePayloads(ctx, h.as(""), h.texts)
	if err != nil {
		return err
	}
	defer large.Close()
	home, others := e.workers(large, h, o.Drain, func(err error) {
		select {
		case broken <- err:
		default: // one is enough
		}
	})
	var stopping sync.WaitGroup
	defer func() { waitFor(stopping.Wait, endGrace+giveBackTime) }()
	defer h.inFlight.end()
	for _, w := range append([]worker.Worker{home}, others...) {
		if err := w.Start(); err != nil {
			return fmt.Errorf("work for the queue %s of Temporal at %s: %w", e.queue, e.address, e.cured(awayIf(err)))
		}
		defer stopping.Go(w.Stop) // all in parallel
	}
	stopWatching := e.watchWork(h.panel.Config())
	defer stopWatching()
	select {
	case <-ctx.Done():
	case err := <-broken:
		return fmt.Errorf("work for the queue %s of Temporal at %s: %w", e.queue, e.address, e.cured(awayIf(err)))
	}
	var returned sync.WaitGroup
	for _, w := range others {
		returned.Go(w.Stop)
	}
	h.drain(o.Drain, returned.Wait)
	return nil
}

// waitFor returns when wait does, or after most.
func waitFor(wait func(), most time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
}

// awayIf marks an error of a server that may work later.
func awayIf(err error) error {
	var missing *serviceerror.NamespaceNotFound // as long as a server is being set up
	if isAway(err) || errors.As(err, &missing) {
		return sessions.Away(err)
	}
	return err
}

// workers returns the worker for the queue of this process alone, and those for the queues of
// all, in the order in which they start. They call broken when they can work no more.
// large is the client for turns by texts.
func (e *Engine) workers(large client.Client, h *activities, d Drain, broken func(error)) (home worker.Worker, others []worker.Worker) {
	options := worker.Options{
		MaxHeartbeatThrottleInterval: mostCancelDelay, DefaultHeartbeatThrottleInterval: mostCancelDelay,
		WorkerStopTimeout: d.Longest + endGrace + giveBackTime, OnFatalError: broken, DeploymentOptions: e.build,
		Interceptors: []interceptor.WorkerInterceptor{&watchful{observer: e.observer}},
	}
	w := worker.New(e.client, e.queueOf(h.panel.Config()), options)
	h.register(w)
	byTexts := worker.New(large, byTexts(e.queueOf(h.panel.Config())), options)
	h.register(byTexts)
	common := options
	common.Identity = e.database.identity()
	options.DisableWorkflowWorker, options.DeploymentOptions = true, worker.DeploymentOptions{}
	home = worker.New(large, h.home, options)
	home.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	// No task comes here: the queue only shows that there are workers, also to clients with
	// another config. It starts last.
	shown := worker.New(e.client, e.queue, options)
	shown.RegisterActivityWithOptions(h.perform, activity.RegisterOptions{Name: performName})
	if e.database.id == "" {
		return home, []worker.Worker{byTexts, w, shown}
	}
	unnamed := worker.New(e.client, e.commonQueueOf(h.panel.Config()), common) // for turns that name no database: those of older versions
	h.register(unnamed)
	return home, []worker.Worker{byTexts, w, unnamed, shown}
}

// register makes a worker play turns, and run the activities of their workflows.
func (h *activities) register(w worker.Worker) {
	w.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	for name, run := range map[string]any{
		prepareName: h.prepare, performName: h.perform, journalName: h.journal, concludeName: h.conclude, finishName: h.finish, leaveName: h.leave,
		keepNoteName: h.keepNote, putTextsName: h.putTexts, keepName: h.keep, watchName: h.watch,
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}
