package report

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// Piece is a piece of what an agent has written or done in a turn. A long text has several pieces of one kind and
// call, which concatenate to it.
type Piece struct {
	Kind step.PieceKind `json:"kind"`
	// Call is the id of the model call that told the text, empty if nobody knows it.
	Call string `json:"call,omitempty"`
	Text string `json:"text,omitempty"`
	// Void is why the text does not count, empty if it does. It stays, so that people see it taken back.
	Void string `json:"void,omitempty"`
	// Tool is a tool call, nil for other kinds.
	Tool *ToolRun `json:"tool,omitempty"`
}

// ToolRun is a tool call of an agent.
type ToolRun struct {
	Call string `json:"call"`
	ToolCall
	// Asked is the rule that leaves the call to a person, empty if none does.
	Asked  string        `json:"asked,omitempty"`
	Began  time.Time     `json:"began,omitzero"`
	Took   time.Duration `json:"took,omitempty"`
	IsOver bool          `json:"is_over,omitempty"`
	// Progress and Fraction are the newest of ToolProgress.
	Progress string  `json:"progress,omitempty"`
	Fraction float64 `json:"fraction,omitempty"`
}

// The highest size of the kept text of an agent in a turn, and of a piece. Each piece counts bytesOfPiece more. A piece
// ends with the first line that ends behind shortPiece bytes, so that each new word copies little.
const (
	mostText     = 4 << 20
	bytesOfPiece = 64
	shortPiece   = 1 << 10
	longPiece    = 4 << 10
)

func kindOf(act string) step.PieceKind {
	switch act {
	case effect.NewAnswer:
		return step.PieceAnswer
	case effect.Vote:
		return step.PieceVote
	}
	return step.PieceSaid
}

// write adds a piece of a streamed text. The text of a summary, and of a call that is over, is not the agent's.
func (s *State) write(by Actor, call string, phase step.Phase, kind step.PieceKind, text string) {
	a := s.Agent(by.Agent)
	if a == nil || text == "" || !a.Phase.IsBusy() || a.Marks.Summarizing || call != "" && a.Call != "" && call != a.Call {
		return
	}
	a.Streamed += len(text)
	a.Marks.Retrying, a.Marks.RetryAt, a.Marks.HeldUp = "", time.Time{}, ""
	a.to(phase, "", by.At)
	a.grow(kind, text)
}

// grow adds a text of the open call, to the last piece if it may grow.
func (a *AgentState) grow(kind step.PieceKind, text string) {
	for text != "" {
		last := len(a.Text) - 1
		if last < 0 || !a.Text[last].mayGrow(kind, a.Call) {
			a.Text = append(a.Text, Piece{Kind: kind, Call: a.Call})
			a.size += bytesOfPiece
			last++
		}
		p := &a.Text[last]
		n := room(p.Text, text)
		p.Text += text[:n]
		a.size += n
		text = text[n:]
	}
	a.cut()
}

func (p *Piece) mayGrow(kind step.PieceKind, call string) bool {
	return p.Kind == kind && p.Call == call && p.Void == "" &&
		len(p.Text) < longPiece && (len(p.Text) < shortPiece || !strings.HasSuffix(p.Text, "\n"))
}

// room returns how much of a new text a piece takes: at least one character.
func room(piece, text string) int {
	n := min(len(text), longPiece-len(piece))
	if from := max(shortPiece-len(piece), 0); from < n {
		if end := strings.IndexByte(text[from:n], '\n'); end >= 0 {
			return from + end + 1
		}
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	if n == 0 { // the character is longer than the room
		_, n = utf8.DecodeRuneInString(text)
	}
	return n
}

// put adds a piece that is complete.
func (a *AgentState) put(p Piece) {
	a.Text = append(a.Text, p)
	a.size += p.size()
	a.cut()
}

func (p *Piece) size() int {
	size := bytesOfPiece + len(p.Text)
	if p.Tool != nil {
		size += len(p.Tool.Arguments) + len(p.Tool.Result)
	}
	return size
}

// cut drops the oldest quarter of a text that is too long.
func (a *AgentState) cut() {
	if a.size <= mostText {
		return
	}
	n := 0
	for ; n < len(a.Text)-1 && a.size > mostText*3/4; n++ {
		a.size -= a.Text[n].size()
	}
	a.Text = slices.Delete(a.Text, 0, n)
	a.Dropped += n
}

// ofCall returns where the pieces of the newest call begin.
func (a *AgentState) ofCall() int {
	i := len(a.Text)
	for i > 0 && a.Text[i-1].Kind != step.PieceStep && (a.Text[i-1].Call == a.Call || a.Text[i-1].Tool != nil) {
		i--
	}
	return i
}

// takeBack voids the text of the newest call.
func (a *AgentState) takeBack(why string) {
	a.void(why, step.PieceSaid, step.PieceAnswer, step.PieceVote)
}

// takeBackActs voids the answer or vote of the newest call: the text beside them stands.
func (a *AgentState) takeBackActs(why string) { a.void(why, step.PieceAnswer, step.PieceVote) }

func (a *AgentState) void(why string, kinds ...step.PieceKind) {
	for i := a.ofCall(); i < len(a.Text); i++ {
		if p := &a.Text[i]; p.Void == "" && slices.Contains(kinds, p.Kind) {
			p.Void = why
		}
	}
}

// keepAnswer makes the text of the newest call an answer, with the part of the answer that the text lacks, such as its
// sources. If the answer is another text, it replaces the pieces of an answer; an empty answer is not known.
func (a *AgentState) keepAnswer(answer string) {
	from := a.ofCall()
	for _, kind := range []step.PieceKind{step.PieceAnswer, step.PieceSaid} {
		text := strings.TrimSpace(joined(a.Text[from:], kind))
		rest, isBegun := strings.CutPrefix(answer, text)
		if from == 0 && a.Dropped > 0 { // the beginning of the text may be gone
			_, rest, isBegun = strings.Cut(answer, text)
		}
		isAnswer := kind == step.PieceAnswer || a.Purpose == effect.Conversation // else it is text beside the answer
		if text == "" || answer != "" && !(isBegun && (isAnswer || strings.TrimSpace(rest) == "")) {
			continue
		}
		for i := from; i < len(a.Text); i++ {
			if p := &a.Text[i]; p.Kind == kind && p.Void == "" {
				p.Kind = step.PieceAnswer
			}
		}
		if strings.TrimSpace(rest) != "" {
			a.grow(step.PieceAnswer, rest)
		}
		return
	}
	if answer != "" {
		a.remove(from, step.PieceAnswer)
		if a.Purpose == effect.Conversation {
			a.void("the accepted answer differs", step.PieceSaid)
		}
		a.grow(step.PieceAnswer, answer)
	}
}

// keepVote puts a vote in place of the pieces of its reason.
func (a *AgentState) keepVote(label, reason, void string) {
	a.remove(a.ofCall(), step.PieceVote)
	text := "for " + label
	if reason != "" {
		text += ": " + reason
	}
	a.put(Piece{Kind: step.PieceVote, Call: a.Call, Text: text, Void: void})
}

// remove removes the pieces of a kind from a place on, except what was taken back.
func (a *AgentState) remove(from int, kind step.PieceKind) {
	kept := slices.DeleteFunc(a.Text[from:], func(p Piece) bool {
		gone := p.Kind == kind && p.Void == ""
		if gone {
			a.size -= p.size()
		}
		return gone
	})
	a.Text = a.Text[:from+len(kept)]
}

// joined returns the text of a kind in pieces, without what was taken back.
func joined(list []Piece, kind step.PieceKind) string {
	var b strings.Builder
	for _, p := range list {
		if p.Kind == kind && p.Void == "" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Answer returns the text of the agent's answer in its newest step, as far as it has come; "" if it has none, or if it
// was taken back.
func (a *AgentState) Answer() string {
	from := len(a.Text)
	for from > 0 && a.Text[from-1].Kind != step.PieceStep {
		from--
	}
	return joined(a.Text[from:], step.PieceAnswer)
}

// Said returns the text of the newest model call beside tools and acts, as far as it has come. An agent that is alone
// or presents writes its answer there.
func (a *AgentState) Said() string { return joined(a.Text[a.ofCall():], step.PieceSaid) }

// Tail returns the end of what the agent writes in its present phase, at most so many bytes.
func (a *AgentState) Tail(most int) string {
	if a.Phase != step.PhaseThinking && a.Phase != step.PhaseWriting || len(a.Text) == 0 {
		return ""
	}
	last := a.Text[len(a.Text)-1]
	var texts []string
	size := 0
	for i := len(a.Text) - 1; i >= 0 && size < most; i-- {
		p := a.Text[i]
		if p.Kind != last.Kind || p.Call != last.Call || p.Void != "" || p.Tool != nil {
			break
		}
		texts = append(texts, p.Text)
		size += len(p.Text)
	}
	slices.Reverse(texts)
	return plain.LastBytes(strings.Join(texts, ""), most)
}

// Tool returns a tool call by its id, nil if it is unknown.
func (a *AgentState) Tool(call string) *ToolRun {
	if i := a.toolAt(call); i >= 0 {
		return a.Text[i].Tool
	}
	return nil
}

func (a *AgentState) toolAt(call string) int {
	for i := len(a.Text) - 1; i >= 0; i-- {
		if t := a.Text[i].Tool; t != nil && t.Call == call {
			return i
		}
	}
	return -1
}

// putTool adds a tool call, or changes one by its id. It never changes a ToolRun itself, which a clone may share.
func (a *AgentState) putTool(run ToolRun) {
	i := a.toolAt(run.Call)
	if i < 0 {
		a.put(Piece{Kind: step.PieceTool, Tool: &run})
		return
	}
	was := a.Text[i]
	if run.Began.IsZero() {
		run.Began = was.Tool.Began
	}
	if run.Asked == "" {
		run.Asked = was.Tool.Asked
	}
	if run.Arguments == "" {
		run.Arguments = was.Tool.Arguments
	}
	a.size -= was.size()
	a.Text[i].Tool = &run
	a.size += a.Text[i].size()
}

func (a *AgentState) progress(ev ToolProgress) {
	t := a.Tool(ev.Call)
	if t == nil || t.IsOver {
		return
	}
	run := *t
	run.Progress, run.Fraction = plain.Line(ev.Text), ev.Fraction
	a.putTool(run)
}
