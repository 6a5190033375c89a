package sessions

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// The errors of stores, for errors.Is.
var (
	// ErrBusy is returned for a second turn on a session whose turn is not over, in
	// this process or another, and for deleting such a session.
	ErrBusy = errors.New("a turn is running on this session: wait for it, cancel it, or use another session")
	// ErrNoSession is returned for a missing session.
	ErrNoSession = errors.New("there is no session")
	// ErrExists is returned for a new session whose id exists already.
	ErrExists = errors.New("there is a session already with the id")
	// ErrUsed is returned by DeleteUnused for a session that was used since.
	ErrUsed = errors.New("the session was used since")
	// ErrNoText is returned for a missing text.
	ErrNoText = errors.New("no text is stored under")
	// ErrNoFact is returned for a missing fact.
	ErrNoFact = errors.New("there is no fact")
)

// Running is the status of a turn that has begun and not ended. Interrupted names it if no
// process works on it any more.
const Running kernel.Status = "running"

// Session is a conversation with all its data except the texts. Times are UTC, in whole
// milliseconds.
type Session struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Parent and ParentTurn are the origin of a branch. Its turns up to ParentTurn are the
	// parent's, which may be deleted.
	Parent     string `json:"parent,omitempty"`
	ParentTurn int    `json:"parent_turn,omitempty"`
	// Created is when the session's first event was written, Updated when its last
	// turn began or ended.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Metadata is the data in the id (ParseID) and the metadata set since.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Turns is the number of the last turn, even if it has no answer.
	Turns int `json:"turns"`
	// Messages counts the messages of the conversation: answered questions, answers, and the
	// messages that a panel of one wrote and received in between.
	Messages int `json:"message_count"`
	// Usage adds up the turns that have ended, without those of a branch's parent.
	Usage Usage `json:"usage"`
}

func now() time.Time { return kept(time.Now()) }

// kept returns a time in the precision that stores keep.
func kept(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// Turn is one turn of a session.
type Turn struct {
	Number   int    `json:"number"`
	Question string `json:"question"`
	// Answer is the winning answer and Winner the agent that gave it. Both are empty if there
	// is none: such a turn stays out of the history.
	Answer string        `json:"answer,omitempty"`
	Winner string        `json:"winner,omitempty"`
	Status kernel.Status `json:"status"`
	// Started is when the turn's first event was written. Ended is zero for a turn
	// that never ended.
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Usage   Usage     `json:"usage"`
	// Messages refers to the list of a panel of one's messages and tool results between the
	// question and the answer, which package agents writes and reads. It is zero if there are
	// none. MessageCount counts the question and the answer too.
	Messages     blob.Ref `json:"messages,omitzero"`
	MessageCount int      `json:"message_count"`
	// Link is the turn's place in the history, zero for one without an answer.
	Link blob.Ref `json:"link,omitzero"`
}

// Begun is a turn that holds its session.
type Begun struct {
	// Turn is its number, from 1.
	Turn int
	// History is the newest link before the turn, zero if there is none.
	History blob.Ref
	// Interrupted is the number of the last turn if that turn has begun and never ended, else
	// 0. The new turn's first event closes it.
	Interrupted int
}

// Ended is the outcome of a turn.
type Ended struct {
	Status kernel.Status
	// Question is the question that the agents answered, empty if it is the one that the turn
	// began with. A "yes" may stand for a question that waited for it.
	Question string
	// Winner and Answer are both empty for a turn that has no answer.
	Winner string
	Answer string
	// Messages is as in Turn. A turn that has an answer and no list of messages
	// counts two.
	Messages     blob.Ref
	MessageCount int
	Usage        Usage
}

// checked returns e as it is stored, or an error for an invalid e.
func (e Ended) checked() (Ended, error) {
	e.Usage = e.Usage.Plus(Usage{})
	switch {
	case !utf8.ValidString(e.Answer) || !utf8.ValidString(e.Winner):
		return e, errors.New("the answer is not valid UTF-8")
	case checkQuestion(e.Question) != nil:
		return e, checkQuestion(e.Question)
	case e.Status == "" || e.Status == Running:
		return e, fmt.Errorf("a turn cannot end with the status %q", e.Status)
	case e.Winner == "" && e.Answer != "":
		return e, errors.New("the answer has no winner")
	case e.Winner == "":
		e.Messages, e.MessageCount = blob.Ref{}, 0
	case e.Messages == blob.Ref{}:
		e.MessageCount = 2
	case e.MessageCount < 2:
		return e, fmt.Errorf("a list of %d messages lacks the question or the answer", e.MessageCount)
	}
	return e, nil
}

// Usage adds up model calls.
type Usage = budget.Usage

// mostUsage is more than one turn can use. Sums of it do not overflow.
const mostUsage = math.MaxInt32

// canBe reports whether u is possible for one turn.
func canBe(u Usage) bool {
	counts := []int{u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.ReasoningTokens, u.UnknownCalls}
	costs := u.CostUSD == nil || *u.CostUSD >= 0 && *u.CostUSD <= mostUsage
	return costs && slices.Min(counts) >= 0 && slices.Max(counts) <= mostUsage
}

// Filter chooses sessions.
type Filter struct {
	// ID chooses the session with that id; empty chooses any.
	ID string
	// Metadata must be in the session's metadata; the user's key is MetaUser.
	Metadata map[string]string
	// Unended chooses sessions whose last turn has not ended: it runs, or Interrupted names it.
	Unended bool
	// UnusedSince chooses sessions that were last used before that time; zero chooses any.
	UnusedSince time.Time
	// After chooses what follows a place: the next page. Totals ignores it.
	After Place
	// Limit is the most sessions, or hits, to return; 0 means all. Totals ignores it.
	Limit int
}

// Totals has the sums over sessions.
type Totals struct {
	Sessions int
	Usage    Usage
}

// Hit is one result of a search.
type Hit struct {
	Session string `json:"session"`
	Title   string `json:"title"`
	// Turn is 0 if the words are in the title.
	Turn int `json:"turn,omitempty"`
	// Snippet is the text around the words.
	Snippet string `json:"snippet"`
	// Updated is when the session's last turn began or ended.
	Updated time.Time `json:"updated"`
}

// Fact is a remembered fact about a user, for all sessions.
type Fact struct {
	ID      int64     `json:"id"`
	User    string    `json:"user"`
	Text    string    `json:"text"`
	Created time.Time `json:"created"`
}
