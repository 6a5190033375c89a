package metrics

// The kinds of metrics.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Metric describes a metric.
type Metric struct {
	Name, Kind, Help string
	// Labels are the names of its labels, for people.
	Labels string
	// Bounds are the upper bounds of a histogram's buckets; nil means those for durations in seconds.
	Bounds []float64
}

func (m Metric) bounds() []float64 {
	if m.Bounds != nil {
		return m.Bounds
	}
	return Seconds()
}

// Seconds returns the bounds of durations.
func Seconds() []float64 {
	return []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}
}

// Of calls, by the process that makes them. The label called is the model as its provider names it: model is the
// panel or agent that a client names.

// CallsRunning counts model calls under way.
func CallsRunning() Metric {
	return Metric{Name: "massgen_calls_running", Kind: Gauge, Labels: "provider, called", Help: "Model calls under way."}
}

// CallsTotal counts model calls that are over.
func CallsTotal() Metric {
	return Metric{Name: "massgen_calls_total", Kind: Counter, Labels: "provider, called, outcome", Help: "Model calls that are over: ok, stopped by their caller, or the kind of the error, such as auth or rate_limit."}
}

// CallDuration is the time that model calls took.
func CallDuration() Metric {
	return Metric{Name: "massgen_call_duration_seconds", Kind: Histogram, Labels: "provider, called", Help: "How long model calls took, with their attempts and waits."}
}

// CallRetriesTotal counts the attempts after the first.
func CallRetriesTotal() Metric {
	return Metric{Name: "massgen_call_retries_total", Kind: Counter, Labels: "provider, called, reason", Help: "Attempts after the first, by the kind of the error before."}
}

// AttemptsWaiting counts the attempts that wait.
func AttemptsWaiting() Metric {
	return Metric{Name: "massgen_attempts_waiting", Kind: Gauge, Labels: "provider, reason", Help: "Attempts of calls that wait: reason is limit, budget, or pause, which comes before a repetition. An open breaker refuses attempts, and none waits for it."}
}

// BreakerOpen counts open breakers.
func BreakerOpen() Metric {
	return Metric{Name: "massgen_breaker_open", Kind: Gauge, Labels: "provider", Help: "Keys of a provider whose calls are refused here for now, because the provider failed too often."}
}

// LimitWaitsTotal counts what a limit held up.
func LimitWaitsTotal() Metric {
	return Metric{Name: "massgen_limit_waits_total", Kind: Counter, Labels: "limit", Help: "What a limit held up for a second or longer, or refused: budget and rate count attempts of calls, turns counts turns."}
}

// Of turns. A worker counts the turns of its workflows, a server those that it has begun.

// TurnsRunning counts the turns that run.
func TurnsRunning() Metric {
	return Metric{Name: "massgen_turns_running", Kind: Gauge, Labels: "model", Help: "Turns that run; on a worker those with an effect under way there."}
}

// TurnsTotal counts the turns that are over.
func TurnsTotal() Metric {
	return Metric{Name: "massgen_turns_total", Kind: Counter, Labels: "model, status", Help: "Turns that are over, by their status."}
}

// TurnDuration is how long turns took.
func TurnDuration() Metric {
	return Metric{Name: "massgen_turn_duration_seconds", Kind: Histogram, Labels: "model", Bounds: turnSeconds(), Help: "How long turns took."}
}

func turnSeconds() []float64 { return []float64{1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800} }

// TokensTotal counts the tokens of turns.
func TokensTotal() Metric {
	return Metric{Name: "massgen_tokens_total", Kind: Counter, Labels: "model, kind", Help: "Tokens of all model calls; cached ones are among the input, reasoning ones among the output."}
}

// CostTotal counts the cost of turns.
func CostTotal() Metric {
	return Metric{Name: "massgen_cost_usd_total", Kind: Counter, Labels: "model", Help: "The cost of all turns whose cost is known, in US dollars."}
}

// TurnsUnpricedTotal counts the turns of unknown cost.
func TurnsUnpricedTotal() Metric {
	return Metric{Name: "massgen_turns_unpriced_total", Kind: Counter, Labels: "model", Help: "Turns whose cost is not known."}
}

// RequestsRefusedTotal counts the requests that a server refused.
func RequestsRefusedTotal() Metric {
	return Metric{Name: "massgen_requests_refused_total", Kind: Counter, Labels: "code", Help: "Requests refused before they were handled, turns beyond a limit, and requests that failed because something was away, by code."}
}

// WorkflowsEndedTotal counts workflows that ended otherwise than by their turn.
func WorkflowsEndedTotal() Metric {
	return Metric{Name: "massgen_workflows_ended_total", Kind: Counter, Labels: "status", Help: "Workflows that ended otherwise than by their turn: terminated, failed, timed_out or canceled."}
}

// TurnsStranded counts the turns that no worker can go on with.
func TurnsStranded() Metric {
	return Metric{Name: "massgen_turns_stranded", Kind: Gauge, Help: "Turns followed here that wait since no worker has the config that they began with."}
}

// CallsLostTotal counts calls lost with their worker.
func CallsLostTotal() Metric {
	return Metric{Name: "massgen_calls_lost_total", Kind: Counter, Help: "Calls that were lost with their worker, and are made again."}
}

// Of what a turn needs.

// Ready reports whether a part works.
func Ready() Metric {
	return Metric{Name: "massgen_ready", Kind: Gauge, Labels: "part", Help: "1 if a part that turns need works, else 0: temporal, database, disk, panels, worker. All is 1 when /readyz answers 200."}
}

// Draining reports whether the process is about to end.
func Draining() Metric {
	return Metric{Name: "massgen_draining", Kind: Gauge, Help: "1 from the first signal to the end of the process, else 0."}
}

// QueueBacklog is the number of tasks that wait for a worker.
func QueueBacklog() Metric {
	return Metric{Name: "massgen_queue_backlog", Kind: Gauge, Labels: "kind", Help: "Tasks of turns that wait for a worker, as Temporal estimates: workflow or activity."}
}

// QueueWorkers is the number of workers that listen.
func QueueWorkers() Metric {
	return Metric{Name: "massgen_queue_workers", Kind: Gauge, Help: "Workers that listen for turns of this config and database."}
}

// DatabaseConnections counts the connections to the database.
func DatabaseConnections() Metric {
	return Metric{Name: "massgen_database_connections", Kind: Gauge, Labels: "state", Help: "Connections of this process to PostgreSQL: used, idle, and the most that it opens."}
}

// DatabaseDuration is how long requests to the database took.
func DatabaseDuration() Metric {
	return Metric{Name: "massgen_database_duration_seconds", Kind: Histogram, Labels: "operation", Help: "How long requests to the database took."}
}

// DatabaseErrorsTotal counts the requests to the database that failed.
func DatabaseErrorsTotal() Metric {
	return Metric{Name: "massgen_database_errors_total", Kind: Counter, Labels: "operation", Help: "Requests to the database that failed."}
}

// All returns the metrics of workers and servers, for people. Those of Temporal's SDK begin with temporal_.
func All() []Metric {
	return []Metric{
		Ready(), Draining(),
		TurnsRunning(), TurnsTotal(), TurnDuration(), TokensTotal(), CostTotal(), TurnsUnpricedTotal(), RequestsRefusedTotal(),
		CallsRunning(), CallsTotal(), CallDuration(), CallRetriesTotal(), AttemptsWaiting(), BreakerOpen(), LimitWaitsTotal(), CallsLostTotal(),
		WorkflowsEndedTotal(), TurnsStranded(), QueueBacklog(), QueueWorkers(),
		DatabaseConnections(), DatabaseDuration(), DatabaseErrorsTotal(),
		build(), memorySize(), goroutines(), heap(),
	}
}
