package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/internal/system/health"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
)

// observer logs and counts the turns of a worker or a client. It is safe for concurrent use, but for its model and its
// traces, which are set before the worker starts.
type observer struct {
	log     *slog.Logger
	metrics *metrics.Registry
	model   string              // the panel's name
	traces  *telemetry.Exporter // nil for none

	mu sync.Mutex
	// effects counts the effects under way, by turn.
	effects map[turnName]int
	// numStranded counts the followed turns that no worker listens for.
	numStranded int
	// over are the latest runs whose end was logged, oldest first.
	over []string
}

// turnName names a turn.
type turnName struct {
	session string
	number  int
}

func newObserver(log *slog.Logger, m *metrics.Registry) *observer {
	for _, status := range endings() {
		m.Expect(metrics.WorkflowsEndedTotal(), "status", status)
	}
	m.Set(metrics.TurnsStranded(), 0)
	return &observer{log: log, metrics: m, effects: map[turnName]int{}}
}

// works sets the panel of a worker and where its spans go, before it starts.
func (o *observer) works(model string, traces *telemetry.Exporter) {
	o.model, o.traces = model, traces
	metrics.ExpectTurns(o.metrics, model, kernel.Statuses()...)
	o.metrics.Expect(metrics.CallsLostTotal())
}

// endings returns the statuses of workflows that ended otherwise than by their turn.
func endings() map[enums.WorkflowExecutionStatus]string {
	return map[enums.WorkflowExecutionStatus]string{
		enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: "terminated", enums.WORKFLOW_EXECUTION_STATUS_FAILED: failed,
		enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: "timed_out", enums.WORKFLOW_EXECUTION_STATUS_CANCELED: "canceled",
	}
}

// failed is the status of a workflow that returned an error.
const failed = "failed"

func (o *observer) turnBegun(session string, number int) {
	if o == nil {
		return
	}
	o.log.Info("a turn has begun", logs.Session, session, logs.Turn, number)
}

// turnEnded logs and counts a turn: loudly if no agent has answered.
func (o *observer) turnEnded(r report.Result) {
	if o == nil {
		return
	}
	took := time.Duration(r.DurationMS) * time.Millisecond
	u := r.Usage
	metrics.Turn{
		Model: o.model, Status: r.Status, Took: took, CostUSD: u.CostUSD,
		Input: u.InputTokens, Output: u.OutputTokens, Cached: u.CachedInputTokens, Reasoning: u.ReasoningTokens,
	}.Count(o.metrics)
	attrs := []any{logs.Session, r.SessionID, logs.Turn, r.Turn, logs.Status, r.Status, logs.Took, took, logs.Calls, u.Calls}
	if u.CostUSD != nil {
		attrs = append(attrs, logs.CostUSD, *u.CostUSD)
	}
	if r.Status == kernel.AllFailed && len(r.Failed) > 0 {
		o.log.Error("all agents of a turn have failed", append(attrs, logs.Agent, r.Failed[0].Agent, logs.Error, r.Failed[0].Error)...)
		return
	}
	o.log.Info("a turn is over", attrs...)
}

// effectBegun counts a turn as running here until over is called.
func (o *observer) effectBegun(t turnName) (over func()) {
	o.change(t, 1)
	return func() { o.change(t, -1) }
}

// performed sends the span of an effect that ended just now with a reply or an error.
func (o *observer) performed(ctx context.Context, w *work, e effect.Effect, began time.Time, reply effect.Reply, err error) {
	if o == nil || o.traces == nil {
		return
	}
	key := e.EffectKey()
	told := telemetry.Work{
		Session: w.Session, Turn: w.Turn.Turn, Question: w.Turn.Question, Purpose: string(key.Purpose), Try: w.Try,
		Worker: processName(), Scheduled: activity.GetInfo(ctx).ScheduledTime, Started: began, Ended: time.Now(),
	}
	told.Agent = agentOf(&w.Turn, key)
	if call, ok := e.(effect.ToolCall); ok {
		told.Tool = call.Name
	}
	switch reply := reply.(type) {
	case effect.ModelReply:
		if reply.Failure != nil {
			told.Failure = reply.Failure.Kind
		}
	case effect.ToolReply:
		if reply.Error {
			told.Failure = "tool_error"
		}
	}
	if err != nil {
		told.Failure = failed
	}
	o.traces.Performed(told)
}

func (o *observer) change(t turnName, by int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.effects[t] += by; o.effects[t] == 0 {
		delete(o.effects, t)
	}
	o.metrics.Set(metrics.TurnsRunning(), float64(len(o.effects)), "model", o.model)
}

// stranded tells that no worker listens for a turn that is followed here, or that one does again or it is over.
func (o *observer) stranded(r *remote, is bool) {
	attrs := []any{logs.Session, sessionOf(r.run.GetID()), logs.Turn, r.number, "queue", r.queue}
	by := -1
	if is {
		by = 1
		o.log.Error("a turn waits for a worker: no worker has the config that it began with", attrs...)
	} else {
		o.log.Info("a turn waits for a worker no longer", attrs...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.numStranded += by
	o.metrics.Set(metrics.TurnsStranded(), float64(o.numStranded))
}

// mostOver is how many ends of runs are remembered.
const mostOver = 1000

// workflowEnded logs and counts the end of a workflow, once, unless it ended by its turn.
func (o *observer) workflowEnded(id, run string, status enums.WorkflowExecutionStatus) {
	if o == nil {
		return
	}
	if name, isOther := endings()[status]; isOther {
		o.endedOtherwise(id, run, name)
	}
}

// endedOtherwise logs and counts a workflow that has ended otherwise than by its turn, once. The attributes are added to
// the line.
func (o *observer) endedOtherwise(id, run, status string, more ...any) {
	if !o.isFirst(run) {
		return
	}
	o.metrics.Add(metrics.WorkflowsEndedTotal(), 1, "status", status)
	attrs := append([]any{logs.Session, sessionOf(id), logs.Status, status, "workflow", id, "run", run}, more...)
	o.log.Error("a workflow has ended otherwise than by its turn", attrs...)
}

// isFirst reports whether the end of a run was not logged yet.
func (o *observer) isFirst(run string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, known := range o.over {
		if known == run {
			return false
		}
	}
	if o.over = append(o.over, run); len(o.over) > mostOver {
		o.over = o.over[1:]
	}
	return true
}

// sessionOf returns the session of a workflow's id. Neither a queue's name nor a session's has a slash.
func sessionOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// watchful watches the workflows and the activities of a worker.
type watchful struct {
	interceptor.WorkerInterceptorBase
	observer *observer
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (w *watchful) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &watchfulActivity{interceptor.ActivityInboundInterceptorBase{Next: next}, w.observer}
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (w *watchful) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &watchfulWorkflow{interceptor.WorkflowInboundInterceptorBase{Next: next}, w.observer}
}

type watchfulActivity struct {
	interceptor.ActivityInboundInterceptorBase
	observer *observer
}

// ExecuteActivity counts the turns whose effects are under way.
func (a *watchfulActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if len(in.Args) == 1 && activity.GetInfo(ctx).ActivityType.Name == performName {
		if w, ok := in.Args[0].(work); ok && !w.Joins {
			defer a.observer.effectBegun(turnName{w.Session, w.Turn.Turn})()
		}
	}
	return a.Next.ExecuteActivity(ctx, in)
}

type watchfulWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
	observer *observer
}

// ExecuteWorkflow logs and counts workflows that fail. A refusal is the client's to hear.
func (w *watchfulWorkflow) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	out, err := w.Next.ExecuteWorkflow(ctx, in)
	if err == nil || workflow.IsContinueAsNewError(err) || isForClient(err) || workflow.IsReplaying(ctx) {
		return out, err
	}
	info := workflow.GetInfo(ctx).WorkflowExecution
	w.observer.endedOtherwise(info.ID, info.RunID, failed, logs.Error, err)
	return out, err
}

// isForClient reports whether err is the refusal of a turn that has not begun: it says nothing about the workers.
func isForClient(err error) bool {
	return isOfKind(err, busyKind) || isOfKind(err, declinedKind) || isOfKind(err, forgottenKind)
}

// watchWork watches that a worker takes turns of a config, and how many wait, until stop is called.
func (e *Engine) watchWork(config string) (stop func()) {
	e.health.Watch(health.Worker, func(ctx context.Context) error {
		kinds := map[string]enums.TaskQueueType{"workflow": enums.TASK_QUEUE_TYPE_WORKFLOW, "activity": enums.TASK_QUEUE_TYPE_ACTIVITY}
		whole := e.queueOf(config)
		for name, kind := range kinds {
			var waiting int64
			live := 0
			for _, queue := range []string{byTexts(whole), whole} {
				found, err := e.client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
					Namespace: e.namespace, TaskQueue: &taskqueue.TaskQueue{Name: queue}, TaskQueueType: kind, ReportStats: true,
				})
				if err != nil {
					return nil //nolint:nilerr // Temporal is another part
				}
				waiting += found.GetStats().GetApproximateBacklogCount()
				polling := 0
				for _, p := range found.GetPollers() {
					if isLive(p) {
						polling++
					}
				}
				live = max(live, polling) // a worker listens to both
			}
			e.observer.metrics.Set(metrics.QueueBacklog(), float64(waiting), "kind", name)
			if name == "workflow" {
				e.observer.metrics.Set(metrics.QueueWorkers(), float64(live))
			}
		}
		return nil
	})
	return func() { e.health.Watch(health.Worker, nil) }
}

// calm is a handler that logs each complaint of the Temporal client once a minute, and the repetitions for debugging
// alone. While a part is away, which health has logged, it logs none. A lost call may be paid for twice: each is logged.
type calm struct {
	slog.Handler
	health *health.Monitor
	logged *logged
}

// logged are the times at which messages were logged.
type logged struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newCalm(h slog.Handler, m *health.Monitor) calm {
	return calm{h, m, &logged{at: map[string]time.Time{}}}
}

// Handle implements slog.Handler.
func (c calm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && r.Message != lostMessage && (strings.HasPrefix(r.Message, "Failed to poll") || c.health.IsAway() || !c.logged.isDue(r.Message, r.Time)) {
		r.Level = slog.LevelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calm{c.Handler.WithAttrs(attrs), c.health, c.logged}
}

// WithGroup implements slog.Handler.
func (c calm) WithGroup(name string) slog.Handler {
	return calm{c.Handler.WithGroup(name), c.health, c.logged}
}

// isDue reports whether a message was not logged for a minute. It takes the message as logged then.
func (t *logged) isDue(message string, now time.Time) bool {
	const most = 1000
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.at[message]) < time.Minute {
		return false
	}
	if len(t.at) > most {
		clear(t.at)
	}
	t.at[message] = now
	return true
}

// lostMessage is the message about a call whose worker is lost.
const lostMessage = "a call is lost with its worker, and made again"

// callLost logs and counts a call that is lost with its worker. It does neither while the workflow is replayed.
func callLost(ctx workflow.Context, session string, t *effect.Turn, key effect.Key) {
	workflow.GetMetricsHandler(ctx).Counter(metrics.CallsLostTotal().Name).Inc(1)
	workflow.GetLogger(ctx).Warn(lostMessage, lostAttrs(session, t, key)...)
}

// lostAttrs returns the attributes of the line about a lost call.
func lostAttrs(session string, t *effect.Turn, key effect.Key) []any {
	return []any{logs.Session, session, logs.Turn, t.Turn, logs.Agent, agentOf(t, key), logs.Call, key.String()}
}
