package logtree

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// Question is what a turn is about.
type Question struct {
	Session, Text, Config string
	Agents                []string // ids, in the config's order
	Workspaces            []string // the agents' folders, "" for none
	Started               time.Time
}

// Turn writes the files of one turn. One goroutine uses it. Its first error stops it.
type Turn struct {
	tree     *Tree
	dir      string // of the first attempt, from the run's folder on
	attempt  int    // the number of the newest attempt
	question Question
	state    *report.State
	// standing has each agent's newest answer; shown are those that stood when its step began.
	standing map[string]answer
	shown    map[string][]answer
	byLabel  map[string]answer
	answers  map[string]int // how many an agent has given
	restarts map[string]int
	votes    map[string]vote
	events   *os.File
	out      *bufio.Writer
	result   *report.Result
	err      error
}

type answer struct{ agent, label, content string }

type vote struct {
	answer

	reason string
}

// Begin begins the files of a turn.
func (t *Tree) Begin(q Question) *Turn {
	t.turns++
	w := &Turn{
		tree: t, dir: attemptOf(t.turns), attempt: 1, question: q, state: report.NewState(q.Agents...),
		standing: map[string]answer{}, shown: map[string][]answer{}, byLabel: map[string]answer{}, answers: map[string]int{}, restarts: map[string]int{}, votes: map[string]vote{},
	}
	w.state.Mask = t.mask
	w.do(func() error { return t.root.MkdirAll(w.dir, 0o700) })
	w.do(func() (err error) {
		w.events, err = t.root.OpenFile(filepath.Join(w.dir, eventsFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		w.out = bufio.NewWriter(w.events)
		return err
	})
	w.do(w.writeMetadata)
	w.Tick(q.Started)
	return w
}

// Err returns the first error.
func (w *Turn) Err() error { return w.err }

func (w *Turn) do(f func() error) {
	if w.err == nil {
		w.err = f()
	}
}

// write writes a file below the attempt's folder.
func (w *Turn) write(text string, path ...string) {
	w.do(func() error { return w.tree.write(filepath.Join(append([]string{w.dir}, path...)...), text) })
}

func (w *Turn) writeJSON(v any, path ...string) {
	text, err := plain.JSONLine(v)
	w.do(func() error { return err })
	w.write(text+"\n", path...)
}

// Line returns an event as one line of JSON, as MassGen writes events.
func Line(ev report.Event) (string, error) {
	of := struct {
		Timestamp string       `json:"timestamp"`
		Type      string       `json:"event_type"`
		Agent     *string      `json:"agent_id"`
		Round     int          `json:"round_number"`
		Data      report.Event `json:"data"`
	}{Timestamp: ev.Head().At.Format("2006-01-02T15:04:05.000000"), Type: ev.Head().Kind, Data: ev}
	if a, ok := ev.(interface{ By() report.Actor }); ok && a.By().Agent != "" {
		id := a.By().Agent
		of.Agent, of.Round = &id, a.By().Round
	}
	return plain.JSONLine(of)
}

// Apply writes what follows from an event.
func (w *Turn) Apply(ev report.Event) {
	w.state.Apply(ev)
	w.do(func() error {
		line, err := Line(ev)
		if err != nil {
			return err
		}
		_, err = w.out.WriteString(w.tree.mask(line) + "\n")
		return err
	})
	switch e := ev.(type) {
	case report.StepStarted:
		w.begin(e)
	case report.Answered:
		w.answered(e)
	case report.Voted:
		w.voted(e)
	case report.Consulted:
		if e.Review != nil && !e.Same {
			w.startOver()
		}
	}
}

// startOver begins another attempt: its agents are shown no answer of the one before, and no vote counts.
func (w *Turn) startOver() {
	w.attempt++
	clear(w.standing)
	clear(w.shown)
	clear(w.answers)
	clear(w.votes)
}

// writeAct writes a file about an act of an agent.
func (w *Turn) writeAct(text string, agent string, at time.Time, name string) {
	folder := filepath.Join(turnFolder(w.tree.turns), fmt.Sprintf("attempt_%d", w.attempt))
	w.do(func() error { return w.tree.write(filepath.Join(folder, folderOf(agent), stamp(at), name), text) })
}

func (w *Turn) begin(e report.StepStarted) {
	if w.answers[e.Agent] > 0 || w.shown[e.Agent] != nil {
		w.restarts[e.Agent]++
	}
	shown := []answer{}
	for _, id := range w.question.Agents {
		if a, ok := w.standing[id]; ok {
			shown = append(shown, a)
		}
	}
	w.shown[e.Agent] = shown
}

func (w *Turn) answered(e report.Answered) {
	w.writeAct(e.Content, e.Agent, e.At, answerFile)
	w.writeAct(w.context(e.Agent), e.Agent, e.At, contextFile)
	if e.Void != "" {
		return
	}
	a := answer{e.Agent, e.Label, e.Content}
	w.standing[e.Agent], w.byLabel[e.Label] = a, a
	w.answers[e.Agent]++
	clear(w.votes) // a new answer voids them
}

// context is what an agent was shown in the step that has ended.
func (w *Turn) context(agent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "QUESTION\n%s\n", w.question.Text)
	for _, a := range w.shown[agent] {
		fmt.Fprintf(&b, "\nANSWER %s\n%s\n", a.label, a.content)
	}
	return b.String()
}

func (w *Turn) voted(e report.Voted) {
	var options, labels []string
	byLabel := map[string]string{}
	for _, a := range w.shown[e.Agent] {
		options, labels = append(options, a.agent), append(labels, a.label)
		byLabel[a.label] = a.agent
	}
	numbers := map[string]string{}
	for i, id := range slices.SortedFunc(slices.Values(w.question.Agents), func(a, b string) int { return cmp.Compare(plain.SortKey(a), plain.SortKey(b)) }) {
		numbers[id] = fmt.Sprintf("agent%d", i+1)
	}
	target := w.byLabel[e.Label]
	text, err := plain.JSONLine(struct {
		Voter      string            `json:"voter_id"`
		VoterAnon  string            `json:"voter_anon_id"`
		For        string            `json:"voted_for"`
		Label      string            `json:"voted_for_label"`
		ForAnon    string            `json:"voted_for_anon"`
		Reason     string            `json:"reason"`
		Void       string            `json:"void,omitempty"`
		Timestamp  string            `json:"timestamp"`
		Unix       float64           `json:"unix_timestamp"`
		Round      int               `json:"coordination_round"`
		Options    []string          `json:"available_options"`
		Labels     []string          `json:"available_options_labels"`
		ByLabel    map[string]string `json:"answer_label_to_agent"`
		AgentNames map[string]string `json:"agent_mapping"`
	}{
		e.Agent, numbers[e.Agent], target.agent, e.Label, numbers[target.agent], e.Reason, e.Void, stamp(e.At), unix(e.At), e.Round,
		append([]string{}, options...), append([]string{}, labels...), byLabel, inverse(numbers),
	})
	w.do(func() error { return err })
	w.writeAct(text+"\n", e.Agent, e.At, voteFile)
	w.writeAct(w.context(e.Agent), e.Agent, e.At, contextFile)
	if e.Void == "" {
		w.votes[e.Agent] = vote{target, e.Reason}
	}
}

func inverse(m map[string]string) map[string]string {
	to := map[string]string{}
	for k, v := range m {
		to[v] = k
	}
	return to
}

// Tick writes the status, and the events so far.
func (w *Turn) Tick(now time.Time) {
	if w.out != nil {
		w.do(w.out.Flush)
	}
	w.writeJSON(w.status(now), statusFile)
}

// End writes the files of the result. It writes what it can after an error, which it returns: a reader waits for
// the last status.
func (w *Turn) End(r report.Result, now time.Time) error {
	before := w.err
	w.result, w.err = &r, nil
	if r.Winner != "" {
		w.write(r.Answer, finalFolder, r.Winner, answerFile)
		w.do(func() error {
			return w.tree.write(filepath.Join(turnFolder(w.tree.turns), finalFolder, r.Winner, answerFile), r.Answer)
		})
	}
	w.write(w.table(r), tableFile)
	before, w.err = cmp.Or(before, w.err), nil
	w.writeJSON(w.status(now), statusFile)
	before, w.err = cmp.Or(before, w.err), nil
	if w.events != nil {
		w.do(w.out.Flush)
		w.err = errors.Join(w.err, w.events.Close())
	}
	w.err = cmp.Or(before, w.err)
	return w.err
}

// table is the course of the turn in words.
func (w *Turn) table(r report.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Question: %s\nStatus: %s\nWinner: %s\n\n", plain.Line(r.Question), r.Status, cmp.Or(r.Winner, "none"))
	rows := [][]string{{"ROUND", "AGENT", "ACT", "LABEL", "REASON"}}
	for _, a := range w.state.Acts {
		rows = append(rows, []string{fmt.Sprint(a.Round), a.Agent, string(a.Phase), a.Label, plain.Line(cmp.Or(a.Void, a.Reason))})
	}
	b.WriteString(plain.Columns(rows))
	if len(r.Votes) > 0 {
		counts := voteCounts(r)
		b.WriteString("\nVotes that count\n")
		for _, label := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&b, "%s: %d\n", label, counts[label])
		}
	}
	return b.String()
}

// writeMetadata writes what was asked, and by which config.
func (w *Turn) writeMetadata() error {
	quoted := func(text string) string { return strings.TrimSuffix(must(plain.JSONLine(text)), "\n") }
	var b strings.Builder
	fmt.Fprintf(&b, "query: %s\nconfig_path: %s\nsession_id: %s\nstart_time: %s\nagents:\n",
		quoted(w.question.Text), quoted(w.question.Config), quoted(w.question.Session), quoted(w.question.Started.Format(time.RFC3339)))
	for _, id := range w.question.Agents {
		fmt.Fprintf(&b, "  - %s\n", quoted(id))
	}
	return w.tree.write(filepath.Join(w.dir, metadataFile), b.String())
}

// must returns the JSON of a text, which cannot fail.
func must(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

func voteCounts(r report.Result) map[string]int {
	counts := map[string]int{}
	for _, v := range r.Votes {
		counts[v.Label]++
	}
	return counts
}

func unix(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }
