package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/sleep"
	"github.com/massgen/massgen/sessions"
)

// Engine is a connection to the turns on a Temporal server. It is safe for concurrent use.
type Engine struct {
	client  client.Client
	options client.Options
	address string
	// namespace is never empty.
	namespace string
	queue     string
	database  database
	settings  Settings
	build     worker.DeploymentOptions
	observer  *observer
	health    *health.Monitor
}

var (
	_ coordinator.Remote  = (*Engine)(nil)
	_ coordinator.Decider = (*remote)(nil)
)

// Options identify a server.
type Options struct {
	// Address is HOST:PORT. Namespace is "default" if it is empty.
	Address   string
	Namespace string
	// Queue is the name that workers and clients share. Workers with another config or another
	// database are kept apart.
	Queue string
	// DatabaseID is the same for all processes that use the store's database, and for no other
	// database. If it is empty, turns go to any worker with the config. DatabasePlace names the
	// database, for people and without a password.
	DatabaseID, DatabasePlace string

	Settings Settings
	// Deployment and Build are the Worker Deployment of a worker and its build there: a turn stays
	// with the workers of the build that began it. If both are empty, any worker takes it up.
	Deployment, Build string
	// TLS is nil for a connection without TLS. APIKey is sent with each request, over TLS only;
	// empty sends none.
	TLS    *tls.Config
	APIKey string
	// Log gets the lines about turns, and the log of the Temporal client; nil drops it. Metrics count
	// them, and Health watches the server; both may be nil.
	Log     *slog.Logger
	Metrics *metrics.Registry
	Health  *health.Monitor
}

// Dial connects to the server. The error of a server that cannot be reached is one for
// sessions.Again.
func Dial(ctx context.Context, o Options) (*Engine, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options := o.client()
	c, err := client.DialContext(ctx, options)
	if err != nil && o.TLS != nil {
		return nil, fmt.Errorf("the Temporal server at %s cannot be reached by TLS: %w", o.Address, awayIf(err))
	}
	if err != nil {
		return nil, fmt.Errorf("there is no Temporal server at %s: start one, for example with temporal server start-dev, or name another: %w", o.Address, awayIf(err))
	}
	namespace := cmp.Or(o.Namespace, client.DefaultNamespace)
	e := &Engine{
		client: c, options: options, address: o.Address, namespace: namespace, queue: o.Queue, database: database{o.DatabaseID, o.DatabasePlace}, settings: o.Settings,
		build: o.build(), observer: newObserver(o.Log, o.Metrics), health: o.Health,
	}
	o.Health.Watch(health.Temporal, e.findNamespace) // a server without the namespace plays no turn
	return e, nil
}

// findNamespace returns an error if the server cannot be asked for the engine's namespace, or does not have it.
func (e *Engine) findNamespace(ctx context.Context) error {
	_, err := e.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: e.namespace})
	return e.cured(err)
}

// cured returns an error with what to do if the server does not have the namespace.
func (e *Engine) cured(err error) error {
	if !errors.As(err, new(*serviceerror.NamespaceNotFound)) {
		return err
	}
	return fmt.Errorf("%w: make it with temporal operator namespace create -n %s --address %s, or name another (--temporal-namespace)", err, e.namespace, e.address)
}

// build returns the options that keep turns on workers of one build.
func (o Options) build() worker.DeploymentOptions {
	if o.Build == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.Build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
	}
}

// connectPatience is how long a server may take to greet a client after the connection is open.
const connectPatience = 20 * time.Second

// client returns the options of the Temporal client. By its default, it sends a key only over
// TLS.
func (o Options) client() client.Options {
	options := client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Logger: log.NewStructuredLogger(slog.New(newCalm(o.Log.Handler(), o.Health))), MetricsHandler: sdkMetrics{registry: o.Metrics},
		ConnectionOptions: client.ConnectionOptions{
			TLS: o.TLS, GetSystemInfoTimeout: connectPatience, DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(logTooLarge(o.Log))},
		},
	}
	if o.APIKey != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	return options
}

// Close closes the connection. Running turns go on.
func (e *Engine) Close() error {
	e.client.Close()
	return nil
}

// id returns the id of the workflows of a session's turns.
func (e *Engine) id(session string) string { return "massgen/" + e.queue + "/" + session }

// mostTaskTime is the longest time after which another worker takes up the turn of a lost
// worker. It is Temporal's default.
const mostTaskTime = 10 * time.Second

// Begin implements coordinator.Remote.
func (e *Engine) Begin(ctx context.Context, session, question string, terms coordinator.TurnOptions) (coordinator.RemoteTurn, error) {
	queue, form, err := e.findWorker(ctx, terms.Config)
	if err != nil {
		return nil, err
	}
	if form < turnsByTexts && (len(terms.Files) > 0 || terms.Schema != blob.Ref{}) {
		return nil, fmt.Errorf("the workers of the queue %s are of a version that knows no files and no schema for the answer: update them, or leave both out", e.queue)
	}
	in := request{Form: form, Session: session, Question: []byte(question), Terms: terms, Owner: "temporal/" + rand.Text(), Settings: e.settings}
	remote, err := e.start(ctx, queue, in)
	if errors.Is(err, sessions.ErrBusy) || errors.As(err, new(foreignTurn)) {
		return nil, err
	}
	if err != nil { // the turn may have started all the same
		err = fmt.Errorf("start the workflow: %w", cmp.Or(ctx.Err(), err))
		if off := e.callOff(context.WithoutCancel(ctx), in, startPatience); off != nil {
			err = fmt.Errorf("%w; it may run all the same: %w", err, off)
		}
		return nil, err
	}
	if remote.number == 0 { // nobody has heard so far whether it has begun
		err = e.awaitWorker(ctx, terms.Config, in, remote)
	}
	if ctx.Err() != nil { // nothing waits for the turn any more
		return nil, errors.Join(ctx.Err(), e.callOff(context.WithoutCancel(ctx), in, 0))
	}
	if err != nil {
		return nil, err
	}
	return remote, nil
}

// start starts the workflow of a turn, once: a slow server may start it, and even finish it,
// and reply too late. The turn has a number if it is known to have begun.
func (e *Engine) start(ctx context.Context, queue string, in request) (*remote, error) {
	isAgain := false
	return untilAnswered(ctx, func() (*remote, error) {
		turn, err := e.startOrFind(ctx, queue, in, isAgain)
		isAgain = true
		// A worker listens in the namespace. If that is missing all the same, the server is being set up.
		return turn, awayIf(err)
	})
}

// startOrFind starts the workflow of a turn unless an earlier try has started it.
func (e *Engine) startOrFind(ctx context.Context, queue string, in request, isAgain bool) (*remote, error) {
	if isAgain {
		if known, err := e.find(ctx, in); err != nil || known.isOwn {
			return &remote{engine: e, run: known.run, queue: queue}, err
		}
	}
	turn, err := e.startOnce(ctx, queue, in)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	isOther, hasEnded := errors.As(err, &started), isMissing(err) || errors.As(err, new(*temporal.ApplicationError))
	if err == nil || !isOther && !hasEnded {
		return turn, err
	}
	// The workflow is another's, or has ended before it could say that the turn has begun.
	known, findErr := e.find(ctx, in)
	switch {
	case findErr != nil:
		return nil, findErr
	case known.isOwn:
		return &remote{engine: e, run: known.run, queue: queue}, nil
	case isOther && known.isForeign:
		return nil, foreignTurn{in.Session, e.queue}
	case isOther:
		return nil, sessions.ErrBusy
	}
	return nil, err
}

// startTry is how long the request that starts a turn may wait until the turn has begun. Another request then waits
// on.
const startTry = 10 * time.Second

// startOnce starts the workflow of a turn, and returns when the turn has begun, by one request. The error is
// context.DeadlineExceeded if that takes longer than startTry.
func (e *Engine) startOnce(whole context.Context, queue string, in request) (*remote, error) {
	ctx, cancel := context.WithTimeout(whole, startTry)
	defer cancel()
	start := e.client.NewWithStartWorkflowOperation(
		client.StartWorkflowOptions{
			ID: e.id(in.Session), TaskQueue: queue, WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowTaskTimeout: min(mostTaskTime, e.settings.withDefaults().Heartbeat),
			Memo:                map[string]any{ownerMemo: in.Owner, databaseMemo: e.database.id},
		}, workflowName, in)
	begun, err := e.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: e.id(in.Session), UpdateName: begunUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	turn := &remote{engine: e, queue: queue}
	if err == nil {
		err = begun.Get(ctx, &turn.number)
	}
	if err == nil {
		turn.run, err = start.Get(ctx)
	}
	if err != nil && ctx.Err() != nil && whole.Err() == nil {
		err = ctx.Err()
	}
	return turn, err
}

// latest is the latest run of a session's workflow, nil if there is none.
type latest struct {
	run client.WorkflowRun
	// isOwn reports whether this request started the run, isForeign whether the run is a turn of
	// another database, and isWaiting whether it waits for a worker.
	isOwn, isForeign, isWaiting bool
}

// find returns the latest run of a session's workflow.
func (e *Engine) find(ctx context.Context, in request) (latest, error) {
	found, err := e.client.DescribeWorkflowExecution(ctx, e.id(in.Session), "")
	if isMissing(err) {
		return latest{}, nil
	}
	if err != nil {
		return latest{}, err
	}
	run := e.client.GetWorkflow(ctx, e.id(in.Session), found.WorkflowExecutionInfo.GetExecution().GetRunId())
	return latest{
		run: run, isOwn: memoOf(found, ownerMemo) == in.Owner, isForeign: e.isForeign(found),
		isWaiting: found.GetPendingWorkflowTask().GetState() == enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED,
	}, nil
}

// memoOf returns the entry of a workflow's memo under a key, empty if there is none.
func memoOf(found *workflowservice.DescribeWorkflowExecutionResponse, key string) (value string) {
	err := converter.GetDefaultDataConverter().FromPayload(found.WorkflowExecutionInfo.GetMemo().GetFields()[key], &value)
	if err != nil {
		return ""
	}
	return value
}

// startPatience is how long Temporal may still carry out a start that got no reply.
const startPatience = 2 * time.Second

// The keys of the workflow's memo: the request that started it, and the ID of the client's
// database. Clients before version 5 of the store, and those without a database ID, omit the
// ID.
const (
	ownerMemo    = "owner"
	databaseMemo = "database"
)

// serverPatience is how long a server may take to answer a client before the client repeats its
// request.
const serverPatience = time.Minute

// untilAnswered repeats an idempotent request while the server is away or slow.
func untilAnswered[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	return sessions.Again(ctx, serverPatience, func() (T, error) {
		v, err := ask()
		if isAway(err) {
			err = sessions.Away(err)
		}
		return v, err
	})
}

// untilBack repeats an idempotent request until the server answers, however long it is away.
func untilBack[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	const pause = time.Second
	for {
		v, err := ask()
		if !isAway(err) || sleep.For(ctx, pause) != nil {
			return v, err
		}
	}
}

// isMissing reports whether the server answered NotFound: what was asked for does not exist, or is over.
func isMissing(err error) bool { return errors.As(err, new(*serviceerror.NotFound)) }

// isAway reports whether the server could not be reached for now.
func isAway(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var busy *serviceerror.ResourceExhausted
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.As(err, &busy) || errors.Is(err, context.DeadlineExceeded)
}

// callOff interrupts a requested turn, which may have begun. It looks for a missing turn again
// while that may still arrive.
func (e *Engine) callOff(ctx context.Context, in request, mayCome time.Duration) error {
	const patience, pause = 10 * time.Second, 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for end := time.Now().Add(mayCome); ; {
		isGone, err := e.callOffOnce(ctx, in)
		if err != nil {
			return fmt.Errorf("cancel the start of the turn: %w", err)
		}
		if !isGone || time.Now().After(end) {
			return nil
		}
		_ = sleep.For(ctx, pause) // when ctx is done, the next try returns its error
	}
}

// callOffOnce interrupts a turn, unless the turn does not exist.
func (e *Engine) callOffOnce(ctx context.Context, in request) (isGone bool, err error) {
	known, err := e.find(ctx, in)
	if err != nil || !known.isOwn {
		return err == nil, err
	}
	err = e.client.CancelWorkflow(ctx, known.run.GetID(), known.run.GetRunID())
	if isMissing(err) {
		return true, nil
	}
	return false, err
}

// Attach implements coordinator.Remote.
func (e *Engine) Attach(ctx context.Context, session string) (coordinator.RemoteTurn, error) {
	found, err := untilAnswered(ctx, func() (*workflowservice.DescribeWorkflowExecutionResponse, error) {
		return e.client.DescribeWorkflowExecution(ctx, e.id(session), "")
	})
	if isMissing(err) || err == nil && found.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, notPlayed{session, e.queue}
	}
	if err != nil {
		return nil, fmt.Errorf("look for the workflow: %w", err)
	}
	if e.isForeign(found) {
		return nil, foreignTurn{session, e.queue}
	}
	remote := &remote{
		engine: e, run: e.client.GetWorkflow(ctx, e.id(session), found.WorkflowExecutionInfo.GetExecution().GetRunId()),
		queue: found.GetExecutionConfig().GetTaskQueue().GetName(),
	}
	if err := e.await(ctx, remote); err != nil {
		return nil, err
	}
	return remote, nil
}

// notPlayed is the refusal to watch a turn that no worker plays.
type notPlayed struct{ session, queue string }

func (n notPlayed) Error() string {
	return fmt.Sprintf("no turn of session %q is played by the workers of the queue %s: it is over, or was left unfinished, which --continue finishes", n.session, n.queue)
}

// Is implements errors.Is with the error that callers know.
func (notPlayed) Is(target error) bool { return target == sessions.ErrNoSession }

// await waits until a turn has begun, and sets its number. While the server is away, it tries again.
func (e *Engine) await(ctx context.Context, p *remote) error {
	run := p.run
	number, err := untilBack(ctx, func() (number int, err error) {
		handle, err := e.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: run.GetID(), RunID: run.GetRunID(), UpdateName: begunUpdate, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, &number)
		}
		return number, err
	})
	p.number = number
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed := p.Wait(ctx, func() {}); failed != nil {
		return errors.Join(failed, err)
	}
	// The turn ended before the query, and a worker still knows it.
	over, queryErr := e.progress(ctx, run.GetID(), run.GetRunID())
	if queryErr != nil {
		return errors.Join(err, queryErr)
	}
	p.number = over.Number
	return nil
}

// progress asks for the progress of a turn, which also "temporal workflow query" shows.
func (e *Engine) progress(ctx context.Context, workflow, run string) (progress, error) {
	return untilAnswered(ctx, func() (p progress, err error) {
		value, err := e.client.QueryWorkflow(ctx, workflow, run, progressQuery)
		if err == nil {
			err = value.Get(&p)
		}
		return p, err
	})
}

// remote is a turn that a workflow plays.
type remote struct {
	engine *Engine
	run    client.WorkflowRun
	queue  string // of its workflow
	number int
}

func (r *remote) Number() int { return r.number }

func (r *remote) Interrupt(ctx context.Context) error {
	_, err := untilAnswered(ctx, func() (struct{}, error) {
		return struct{}{}, r.signal(ctx, interruptSignal, toTurn{r.number})
	})
	if err == nil || errors.Is(err, driver.ErrOver) {
		return nil
	}
	return fmt.Errorf("interrupt the turn: %w", err)
}

// signal sends a message to the workflow. It returns driver.ErrOver if the turn is over.
func (r *remote) signal(ctx context.Context, name string, value any) error {
	err := r.engine.client.SignalWorkflow(ctx, r.run.GetID(), "", name, value)
	if isMissing(err) {
		return driver.ErrOver
	}
	return err
}
