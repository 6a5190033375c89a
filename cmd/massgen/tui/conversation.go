package tui

import (
	"context"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
)

// Conversation has the functions and values that the screen shows and calls. The screen calls the
// functions from several goroutines at once; none may be nil.
type Conversation struct {
	// Opened has the id and the agents of the session before the session is read.
	Opened Session
	// Session returns the session for the header.
	Session func(ctx context.Context) Session
	// Notices returns the remarks and warnings that the screen has not shown yet, one on a line.
	Notices func() []string
	// Past returns the turns of the session that are over, oldest first.
	Past func(ctx context.Context) ([]Exchange, error)
	// Ask begins a turn. Settle waits for the work after its answer, such as facts about the user.
	Ask    func(ctx context.Context, question string) (*massgen.Turn, error)
	Settle func(ctx context.Context, turn *massgen.Turn)
	// Follow is called with each event of a turn after the state has it. It reports whether Notices has new lines, as
	// with --debug. Summary returns the lines above the answer of a turn.
	Follow  func(turn *report.State, ev massgen.Event) bool
	Summary func(r massgen.Result) []string
	// Analysis returns the judge's analysis of a turn in full and on one line, both "" without one.
	Analysis func(r massgen.Result) (whole, short string)
	// Command runs a line that begins with a slash.
	Command func(ctx context.Context, line string) (Outcome, error)
	// Commands are the commands with their descriptions.
	Commands []Choice
	// Sessions returns the page of sessions after a place, those first that were used last, and the place of the next
	// page, "" after the last one. Search finds the turns whose texts have the words.
	Sessions func(ctx context.Context, after string) (page []Kept, next string, err error)
	Search   func(ctx context.Context, words string) ([]Found, error)
	// Rename gives a session another title. Delete deletes one that is not open.
	Rename func(ctx context.Context, id, title string) error
	Delete func(ctx context.Context, id string) error
	// Models returns names of models for the completion of /model.
	Models func() []string
	// Calls returns the model calls of the session's last turns, oldest first. Input returns the input of
	// a call by its name.
	Calls func(ctx context.Context) ([]Call, error)
	Input func(ctx context.Context, name string) (Input, error)
	// History are the lines typed earlier, oldest first. Typed adds one.
	History []string
	Typed   func(line string)
	// Redact hides secrets.
	Redact func(text string) string
}

// Outcome is the result of a command: its output, a question to ask, a question to edit, and whether the
// conversation ends.
type Outcome struct {
	Text     string
	Question string
	Draft    string
	Leave    bool
}

// Session is the session in the header.
type Session struct {
	ID string
	// Title is empty before the first question.
	Title    string
	Agents   []Agent
	Messages int
	// Turn is the number of the last turn, 0 before the first one.
	Turn int
	// In and Out are tokens. USD is nil if the cost is unknown.
	In, Out int
	USD     *float64
	// Context is the size of the fullest agent's context, in tokens. Window is the size of its model's
	// window, 0 if unknown.
	Context, Window int
	isRead          bool
}

// ids returns the ids of the agents.
func (s Session) ids() (list []string) {
	for _, a := range s.Agents {
		list = append(list, a.ID)
	}
	return list
}

// Agent is a member of the panel. Its tools run in Folder.
type Agent struct{ ID, Model, Folder string }

// Exchange is a turn that is over.
type Exchange struct{ Question, Answer, Winner, Status string }

// Choice is a line of a list: a name and its description.
type Choice struct{ Name, About string }
