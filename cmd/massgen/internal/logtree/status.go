package logtree

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// status is status.json, with MassGen's fields.
type status struct {
	FinishReason  string                 `json:"finish_reason"`
	Details       string                 `json:"finish_reason_details"`
	IsComplete    bool                   `json:"is_complete"`
	ReviewPending bool                   `json:"review_pending"`
	Meta          statusMeta             `json:"meta"`
	Costs         statusCosts            `json:"costs"`
	Rounds        statusRounds           `json:"rounds"`
	Coordination  statusCoordination     `json:"coordination"`
	Agents        map[string]statusAgent `json:"agents"`
	Results       statusResults          `json:"results"`
}

type statusMeta struct {
	LastUpdated float64 `json:"last_updated"`
	SessionID   string  `json:"session_id"`
	LogDir      string  `json:"log_dir"`
	Question    string  `json:"question"`
	StartTime   float64 `json:"start_time"`
	Elapsed     float64 `json:"elapsed_seconds"`
}

type statusCosts struct {
	USD    *float64 `json:"total_estimated_cost"`
	Input  int      `json:"total_input_tokens"`
	Output int      `json:"total_output_tokens"`
}

type statusRounds struct {
	Total     int            `json:"total_rounds"`
	ByOutcome map[string]int `json:"by_outcome"`
}

type statusCoordination struct {
	Phase      string  `json:"phase"`
	Active     *string `json:"active_agent"`
	Percentage int     `json:"completion_percentage"`
	IsFinal    bool    `json:"is_final_presentation"`
}

type statusAgent struct {
	Status       string             `json:"status"`
	Answers      int                `json:"answer_count"`
	Label        *string            `json:"latest_answer_label"`
	Vote         *statusVote        `json:"vote_cast"`
	Restarts     int                `json:"times_restarted"`
	LastActivity float64            `json:"last_activity"`
	Error        *statusError       `json:"error"`
	Workspaces   *map[string]string `json:"workspace_paths"`
	Usage        statusUsage        `json:"token_usage"`
}

type statusVote struct {
	Agent  string `json:"voted_for_agent"`
	Label  string `json:"voted_for_label"`
	Reason string `json:"reason_preview"`
}

type statusError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type statusUsage struct {
	Input  int      `json:"input_tokens"`
	Output int      `json:"output_tokens"`
	Cached int      `json:"cached_input_tokens"`
	USD    *float64 `json:"estimated_cost"`
}

type statusResults struct {
	Votes   map[string]int `json:"votes"`
	Winner  *string        `json:"winner"`
	Preview *string        `json:"final_answer_preview"`
}

// previewLength is how many characters of an answer the status has.
const previewLength = 200

func (w *Turn) status(now time.Time) status {
	s := status{
		Agents:       map[string]statusAgent{},
		Meta:         statusMeta{unix(now), w.question.Session, filepath.Join(w.tree.dir, w.dir), w.question.Text, unix(w.question.Started), math.Round(now.Sub(w.question.Started).Seconds()*1000) / 1000},
		Costs:        statusCosts{w.state.Usage.CostUSD, w.state.Usage.InputTokens, w.state.Usage.OutputTokens},
		Rounds:       statusRounds{Total: len(w.state.Rounds), ByOutcome: w.outcomes()},
		Coordination: w.coordination(),
		Results:      statusResults{Votes: map[string]int{}},
	}
	s.FinishReason, s.Details, s.IsComplete = "in_progress", "Phase: "+s.Coordination.Phase, false
	for i, a := range w.state.Agents {
		s.Agents[a.ID] = w.agent(i, a)
	}
	for _, v := range w.votes {
		s.Results.Votes[v.label]++
	}
	if w.result != nil {
		w.finish(&s, *w.result)
	}
	return s
}

// finish adds the result.
func (w *Turn) finish(s *status, r report.Result) {
	s.IsComplete, s.Coordination.Percentage, s.Coordination.Active = true, 100, nil
	s.Results.Votes = voteCounts(r)
	s.Costs = statusCosts{r.Usage.CostUSD, r.Usage.InputTokens, r.Usage.OutputTokens}
	switch {
	case r.Status == kernel.Timeout:
		s.FinishReason, s.Details = "timeout", "Orchestrator time limit exceeded"
	case r.Status == kernel.Cut:
		s.FinishReason, s.Details = "interrupted", "Interrupted by a person"
	case r.Winner == "":
		s.FinishReason, s.Details = "error", r.Reason()
	default:
		s.FinishReason, s.Details = "completed", "Winner: "+r.Winner
		if r.Status != kernel.Completed {
			s.Details += fmt.Sprintf(" (%s)", r.Status)
		}
	}
	if r.Winner != "" {
		preview := plain.Cut(w.tree.mask(r.Answer), previewLength)
		s.Results.Winner, s.Results.Preview = &r.Winner, &preview
	}
	for _, f := range r.Failed {
		if a, ok := s.Agents[f.Agent]; ok {
			a.Error = &statusError{"error", f.Error}
			s.Agents[f.Agent] = a
		}
	}
}

func (w *Turn) agent(i int, a report.AgentState) statusAgent {
	s := statusAgent{
		Status: wordOf(a.Phase), Answers: w.answers[a.ID], Restarts: w.restarts[a.ID], LastActivity: unix(a.Since),
		Usage: statusUsage{a.Usage.InputTokens, a.Usage.OutputTokens, a.Usage.CachedInputTokens, a.Usage.CostUSD},
	}
	if a.Since.IsZero() {
		s.LastActivity = unix(w.question.Started)
	}
	if answer, ok := w.standing[a.ID]; ok {
		s.Label = &answer.label
	}
	if v, ok := w.votes[a.ID]; ok {
		s.Vote = &statusVote{v.agent, v.label, plain.Cut(w.tree.mask(v.reason), previewLength/2)}
	}
	if a.Phase == step.PhaseFailed {
		s.Error = &statusError{"error", a.Detail}
	}
	if i < len(w.question.Workspaces) && w.question.Workspaces[i] != "" {
		s.Workspaces = &map[string]string{"workspace": w.question.Workspaces[i]}
	}
	return s
}

// wordOf returns MassGen's word for a phase.
func wordOf(p step.Phase) string {
	switch p {
	case step.PhaseIdle:
		return "waiting"
	case step.PhaseWaiting, step.PhaseThinking, step.PhaseWriting, step.PhaseCallingTool, step.PhaseAskingPerson:
		return "streaming"
	case step.PhaseAnswered, step.PhaseVoted:
		return string(p)
	case step.PhaseLate:
		return "timeout"
	case step.PhaseFailed:
		return "error"
	}
	return "completed"
}

// outcomes counts the ends of steps by MassGen's words.
func (w *Turn) outcomes() map[string]int {
	by := map[string]int{"answer": 0, "vote": 0, "presentation": 0, "post_evaluation": 0, "restarted": 0, "error": 0, "timeout": 0}
	for _, a := range w.state.Acts {
		switch {
		case a.Final:
			by["presentation"]++
		case a.Phase == step.PhaseAnswered:
			by["answer"]++
		case a.Phase == step.PhaseVoted:
			by["vote"]++
		case a.Phase == step.PhaseFailed:
			by["error"]++
		case a.Phase == step.PhaseLate:
			by["timeout"]++
		}
	}
	return by
}

func (w *Turn) coordination() statusCoordination {
	s := statusCoordination{Phase: "initial_answer"}
	n := len(w.state.Rounds)
	switch {
	case n > 0 && w.state.Rounds[n-1].Final:
		s.Phase, s.IsFinal = "presentation", true
	case n > 1:
		s.Phase = "enforcement"
	}
	done := len(w.votes)
	for _, count := range w.answers {
		done += min(count, 1)
	}
	if total := 2 * len(w.state.Agents); total > 0 {
		s.Percentage = min(99, 100*done/total)
	}
	for _, a := range w.state.Agents {
		if wordOf(a.Phase) == "streaming" {
			s.Active = &a.ID
			break
		}
	}
	return s
}
