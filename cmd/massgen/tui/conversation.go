package tui

import (
	"context"

	"github.com/massgen/massgen"
)

// Conversation is what the screen shows and drives. Its functions are called from goroutines of
// the screen's, several at once; none may be nil.
type Conversation struct {
	// Opened is what is known of the session before it is read: its id and agents.
	Opened Session
	// Session returns what the header shows of the session.
	Session func(ctx context.Context) Session
	// Notices returns the remarks and warnings that the screen has not shown yet, a line each.
	Notices func() []string
	// Past returns the turns of the session that are over, oldest first.
	Past func(ctx context.Context) ([]Exchange, error)
	// Ask begins a turn, and Settle waits for what follows its answer, such as facts about the
	// user.
	Ask    func(ctx context.Context, question string) (*massgen.Turn, error)
	Settle func(ctx context.Context, turn *massgen.Turn)
	// Command runs a line that begins with a slash.
	Command func(ctx context.Context, line string) (Outcome, error)
	// Commands are the commands with what they do.
	Commands []Choice
	// Sessions are those that were used last, and Search finds those whose texts have the words:
	// About says where.
	Sessions func(ctx context.Context) ([]Choice, error)
	Search   func(ctx context.Context, words string) ([]Choice, error)
	// Models are names of models that /model completes.
	Models func() []string
	// Calls are the model calls of the session's last turns, oldest first, and Input is what one of
	// them was sent, by its name.
	Calls func(ctx context.Context) ([]Call, error)
	Input func(ctx context.Context, name string) (Input, error)
	// History are the lines that were typed before, oldest first, and Typed adds one.
	History []string
	Typed   func(line string)
	// Redact hides secrets.
	Redact func(text string) string
}

// Outcome is what a command came to: what it printed, a question that it asks, one that it gives
// back to be edited, and whether it ends the conversation.
type Outcome struct {
	Text     string
	Question string
	Draft    string
	Leave    bool
}

// Session is what the header shows.
type Session struct {
	ID       string
	Agents   []Agent
	Messages int
	// In and Out are tokens, USD is nil where the cost is not known.
	In, Out int
	USD     *float64
	// Context is the context of the agent that has the fullest one, in tokens, and Window how many its
	// model takes; 0 where that is not known.
	Context, Window int
	isRead          bool
}

// Agent is a member of the panel.
type Agent struct{ ID, Model string }

// Exchange is a turn that is over.
type Exchange struct{ Question, Answer, Winner, Status string }

// Choice is a line of a list: what is chosen, and what it is.
type Choice struct{ Name, About string }
