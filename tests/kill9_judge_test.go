package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/hosted"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// grave is what a process left that was killed.
type grave struct {
	accepted, ended bool
	// asked is how often each model had been sent each request whose reply was on disk.
	asked map[string]int
	// unknown are the tool calls in flight that may not be made again.
	unknown int
}

// bury looks at what the last process left on disk, in a copy of it, and at the requests
// that the models had received.
func (r *killRun) bury() {
	r.t.Helper()
	g := grave{asked: map[string]int{}}
	// What it sent last may be on its way still: after the requests of the next process it
	// would be out of its order.
	for _, server := range r.servers {
		if err := server.AwaitLeft(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
	left := r.look()
	if left.turn != nil {
		g.accepted, g.ended = true, left.turn.Status != sessions.Running
	}
	for _, c := range left.tools {
		if c.State == report.ToolRunning && mayDoHarmTwice(c.Name) {
			g.unknown++
		}
	}
	for model, done := range r.done(left.journal) {
		received := r.requests(model)
		distinct := slices.Compact(slices.Clone(received)) // an agent makes one call after the other
		if done > len(distinct) {
			r.t.Fatalf("%d replies of %s are on disk, and it was asked %d times", done, model, len(distinct))
		}
		for _, body := range distinct[:done] {
			g.asked[body] = count(received, body)
		}
	}
	r.graves = append(r.graves, g)
}

func mayDoHarmTwice(tool string) bool { return tool == "write_file" || tool == "mcp__own__echo" }

// onFile is a turn as it is on disk. All of it is nil if it is not there.
type onFile struct {
	turn    *sessions.Turn
	journal []turn.Event
	tools   []report.ResultToolCall
}

// look reads the turn, in a copy of what is on disk: who opens the store mends it.
func (r *killRun) look() (found onFile) {
	r.t.Helper()
	dir := r.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.dir, "state"))); err != nil {
		r.t.Fatal(err)
	}
	onDisk(r.t, filepath.Join(dir, "sessions.db"), func(store *sqlite.Store) {
		if err := store.Check(r.t.Context()); err != nil {
			r.t.Error(err)
		}
		turns, err := store.Turns(r.t.Context(), killSession, 0)
		if len(turns) == 0 || turns[len(turns)-1].Question == r.panel.first {
			return
		}
		found.turn = &turns[len(turns)-1]
		events, eventsErr := store.Journal(r.t.Context(), killSession, found.turn.Number, 0)
		kept, keptErr := coordinator.ReadRecord(r.t.Context(), store, killSession, found.turn.Number)
		found.tools = kept.ToolCalls
		if err := errors.Join(err, eventsErr, keptErr); err != nil {
			r.t.Fatal(err)
		}
		for _, data := range events {
			ev, err := turn.Decode(data)
			if err != nil {
				r.t.Fatal(err)
			}
			found.journal = append(found.journal, ev)
		}
	})
	return found
}

// done counts the replies of each model in a journal, but for those of the budget.
func (r *killRun) done(journal []turn.Event) map[string]int {
	done := map[string]int{}
	for _, ev := range journal {
		switch ev, ok := ev.(turn.ModelDone); {
		case !ok || ev.Reply.Failure != nil && ev.Reply.Failure.Unsent:
		case ev.Key.Agent == effect.NoAgent:
			done[r.panel.helpers[string(ev.Key.Purpose)]]++
		default:
			done[r.panel.agents[ev.Key.Agent]]++
		}
	}
	return done
}

// requests are the bodies that a model was sent, in the order of their arrival.
func (r *killRun) requests(model string) (bodies []string) {
	for _, c := range r.calls() {
		if c.Model() == model {
			bodies = append(bodies, string(c.Body))
		}
	}
	return bodies
}

func count(list []string, one string) (n int) {
	for _, s := range list {
		if s == one {
			n++
		}
	}
	return n
}

// check compares the end of a turn with that of one that nobody killed.
func (r *killRun) check(want outcome) {
	r.t.Helper()
	r.checkRequests()
	r.checkReplies()
	var got outcome
	if r.ended() {
		want, got = want.kept(), r.kept()
		if r.code != app.ExitUsage || !strings.Contains(r.stderr, "has what was answered") {
			r.t.Errorf("exit status %d after the end of the turn: %s", r.code, r.stderr)
		}
	} else {
		got = r.outcome()
		r.checkCounts()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("the turn ended in another way (-want +got):\n%s\n%s", diff, r.stderr)
	}
}

// ended says that the last process that was killed had finished the turn already, so that
// nobody can print its result any more.
func (r *killRun) ended() bool {
	return len(r.graves) > 0 && r.graves[len(r.graves)-1].ended
}

// checkCounts looks at what the result says of the calls that were made.
func (r *killRun) checkCounts() {
	r.t.Helper()
	result := r.result(app.ExitCompleted)
	r.checkTools(result.ToolCalls)
	repeated := result.RepeatedCalls
	u := result.Usage
	if u.UnknownCalls != repeated {
		r.t.Errorf("the cost of %d calls is unknown, and %d were repeated", u.UnknownCalls, repeated)
	}
	const told = "had begun when the turn was cut off"
	if got := slices.ContainsFunc(result.Warnings, func(w string) bool { return strings.Contains(w, told) }); got != (repeated > 0) {
		r.t.Errorf("%d calls were repeated, and the warnings are %q", repeated, result.Warnings)
	}
	following := len(r.requests(r.panel.helpers["facts"]))
	sent := len(r.calls()) - following
	if sent > u.Calls || sent < u.Calls-repeated {
		r.t.Errorf("the models were asked %d times, and the result says %d, %d of them repeated", sent, u.Calls, repeated)
	}
	if b := result.Budget; b != nil && (sent > b.SpentCalls || b.SpentCalls > *b.MaxCalls || b.OverTokens > 0) {
		r.t.Errorf("the models were asked %d times, and the budget says %+v", sent, *b)
	}
}

// checkTools looks at what became of the calls of tools.
func (r *killRun) checkTools(calls []report.ResultToolCall) {
	r.t.Helper()
	interrupted, echoes := 0, 0
	for _, c := range calls {
		if c.Name == "mcp__own__echo" {
			echoes++
		}
		if c.State == effect.ToolInterrupted {
			interrupted++
			if !mayDoHarmTwice(c.Name) {
				r.t.Errorf("a call of %s, which may be made again, was not", c.Name)
			}
		}
	}
	if len(r.graves) == 1 && interrupted != r.graves[0].unknown {
		r.t.Errorf("%d calls of tools may have done their work, and models were told so of %d", r.graves[0].unknown, interrupted)
	}
	if made := strings.Count(r.echoes(), "\n"); made > echoes {
		r.t.Errorf("a tool was called %d times, and models asked for it %d times", made, echoes)
	}
}

// checkRequests says which request came again although its reply was on disk.
func (r *killRun) checkRequests() {
	r.t.Helper()
	for _, model := range r.models() {
		received := r.requests(model)
		for _, g := range r.graves {
			for body, asked := range g.asked {
				if again := count(received, body); again > asked {
					r.t.Errorf("%s was asked %d times more what it had said already: %s", model, again-asked, body)
				}
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(received)))) != len(slices.Compact(slices.Clone(received))) {
			r.t.Errorf("%s was asked something again out of its order", model)
		}
	}
}

// checkReplies says which model has not the same requests as there are replies in the
// journal: one that was not the same when it was repeated is one too many.
func (r *killRun) checkReplies() {
	r.t.Helper()
	done := r.done(r.look().journal)
	for _, model := range r.models() {
		distinct := slices.Compact(slices.Clone(r.requests(model)))
		follows := r.ended() && model == r.panel.helpers["facts"] // nobody resumes what follows a turn
		if len(distinct) != done[model] && !follows {
			r.t.Errorf("%s was asked %d different things, and %d replies are in the journal", model, len(distinct), done[model])
		}
	}
}

func (r *killRun) models() []string {
	return append(slices.Collect(maps.Values(r.panel.helpers)), r.panel.agents...)
}

// outcome is what has to be the same, whoever was killed.
type outcome struct {
	Status           kernel.Status
	Winner, Answer   string
	Answers          []report.ResultAnswer
	Votes, VoidVotes []report.ResultVote
	Agents           map[string]kernel.Act
	Failed           []report.FailedAgent
	Rounds           int
	// Tools are the calls of tools that came to an end, with what files said.
	Tools    []string
	Warnings []string
	// Notes is the file that the winner's answer is about, as it was kept with it.
	Notes    string
	Metadata map[string]string
	// Calls are those of models that the turn needed, but for those that were repeated, and
	// for those in which a model saw to a tool call that was interrupted.
	Calls int
}

// kept is the part of it that is known of a turn whose result nobody has printed.
func (o outcome) kept() outcome {
	return outcome{Status: o.Status, Winner: o.Winner, Answer: o.Answer, Metadata: o.Metadata}
}

// kept reads it from the store.
func (r *killRun) kept() outcome {
	r.t.Helper()
	last := r.look().turn
	if last == nil {
		r.t.Fatalf("the turn is not there: %s", r.stderr)
	}
	return outcome{Status: last.Status, Winner: last.Winner, Answer: last.Answer, Metadata: r.metadata()}
}

// outcome reads it from what the last process printed.
func (r *killRun) outcome() outcome {
	r.t.Helper()
	result := r.result(app.ExitCompleted)
	o := outcome{
		Status: result.Status, Winner: result.Winner, Answer: result.Answer, Answers: result.Answers,
		Votes: result.Votes, VoidVotes: result.VoidVotes, Agents: map[string]kernel.Act{}, Failed: result.Failed,
		Rounds: result.Rounds, Metadata: r.metadata(), Calls: result.Usage.Calls - result.RepeatedCalls - r.toldOfInterrupted(),
	}
	for i := range o.Answers {
		o.Answers[i].Snapshot = ""
		if got := len(o.Answers[i].Citations); got != r.panel.sources {
			r.t.Errorf("the answer of %s names %d sources, want %d", o.Answers[i].Agent, got, r.panel.sources)
		}
	}
	for _, a := range result.Agents {
		o.Agents[a.ID] = a.State
	}
	for _, c := range result.ToolCalls {
		if c.State == effect.ToolInterrupted {
			continue
		}
		said := ""
		if c.Name == "read_file" || c.Name == hosted.CodeExecution {
			said = c.Result
		}
		o.Tools = append(o.Tools, fmt.Sprint(c.Agent, c.Round, c.Name, c.Arguments, c.State, c.Error, said))
	}
	slices.Sort(o.Tools)
	for _, w := range result.Warnings {
		if !strings.Contains(w, "had begun when the turn was cut off") {
			o.Warnings = append(o.Warnings, w)
		}
	}
	notes, err := os.ReadFile(filepath.Join(result.Snapshot, "notes.txt"))
	if err != nil {
		r.t.Error(err)
	}
	o.Notes = string(notes)
	r.sortVotes(&o)
	return o
}

// toldOfInterrupted counts the requests in which a model is told, first of all, that nobody
// knows what became of a tool call.
func (r *killRun) toldOfInterrupted() int {
	told := map[string]bool{}
	for _, c := range r.calls() {
		for _, m := range slices.Backward(c.Messages()) {
			if m.Role != backends.RoleTool {
				break
			}
			if strings.HasPrefix(strings.Join(toolResults([]backends.Message{m}), ""), interruptedResult) {
				told[string(c.Body)] = true
			}
		}
	}
	return len(told)
}

func (r *killRun) sortVotes(o *outcome) {
	if r.panel.hasty {
		o.Rounds, o.VoidVotes, o.Calls = 0, nil, 0
	}
	for _, votes := range [][]report.ResultVote{o.Votes, o.VoidVotes} {
		if r.panel.hasty {
			for i := range votes {
				votes[i].Round = 0
			}
		}
		slices.SortFunc(votes, func(a, b report.ResultVote) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
}

// metadata is what the session knows beside its turns, but for what was spent, and for the
// facts, which are another turn's.
func (r *killRun) metadata() (metadata map[string]string) {
	r.t.Helper()
	onDisk(r.t, filepath.Join(r.dir, "state", "sessions.db"), func(store *sqlite.Store) {
		s, err := store.Session(r.t.Context(), killSession)
		if err != nil {
			r.t.Fatal(err)
		}
		metadata = s.Metadata
	})
	var spent struct{ Spent struct{ Calls int } }
	if text := metadata[coordinator.MetaSpent]; text != "" {
		if err := json.Unmarshal([]byte(text), &spent); err != nil || spent.Spent.Calls < len(r.calls()) {
			r.t.Errorf("the models were asked %d times, and the session has spent %s, %v", len(r.calls()), text, err)
		}
	}
	if !strings.Contains(metadata["massgen:panel"], "panel.yaml") {
		r.t.Errorf("the session's panel is forgotten: %q", metadata["massgen:panel"])
	}
	for _, own := range []string{coordinator.MetaSpent, "massgen:panel"} { // folders and ports differ
		delete(metadata, own)
	}
	for key, value := range metadata {
		metadata[key] = regexp.MustCompile(`"last_interaction_time":"[^"]*"`).ReplaceAllString(value, `"last_interaction_time":…`)
	}
	return metadata
}
