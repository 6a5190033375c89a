package kernel

import "github.com/massgen/massgen/internal/system/blob"

// Time is a moment in milliseconds since the Unix epoch, as the journal has it.
type Time int64

// Event is something that happened. Every event has its time, which never goes back. The kernel
// takes the events of this package; the turn has more.
type Event interface{ When() Time }

// Opened begins the turn: it comes first, and once.
type Opened struct{ At Time }

// Answered ends a step with a new answer. Hash is the hash of the normalised text: equal
// hashes mean equal texts. Seen is the set of answers in the agent's input.
type Answered struct {
	At     Time
	Agent  int
	Seen   int
	Answer blob.Ref
	Hash   string
	// Value, Work, FailedCheck and Check are as in Answer.
	Value       string
	Work        blob.Ref
	FailedCheck bool
	Check       blob.Ref
}

// Voted ends a step with a vote for the answer of agent For in the set Seen.
type Voted struct {
	At     Time
	Agent  int
	Seen   int
	For    int
	Reason string
	// Others and Saw are as in Vote.
	Others []int
	Saw    []string
}

// Abstained ends a step in which the agent neither answered nor voted.
type Abstained struct {
	At     Time
	Agent  int
	Seen   int
	Reason string
}

// OutOfTurns ends a step that requested tools up to its last call. An agent of a panel
// abstains. A panel of one ends the turn with Answer, which may be zero; Hash and Work are
// as in Answered.
type OutOfTurns struct {
	At     Time
	Agent  int
	Seen   int
	Answer blob.Ref
	Hash   string
	Work   blob.Ref
	Reason string
	// FailedCheck and Check are as in Answer.
	FailedCheck bool
	Check       blob.Ref
}

// Failed ends a step with an error: the agent is out for the turn.
type Failed struct {
	At     Time
	Agent  int
	Reason string
}

// Stopped ends a step after a Cancel command. The kernel does not see what a cancelled call
// still returned.
type Stopped struct {
	At    Time
	Agent int
}

// Presented ends the winner's presentation. A zero Answer means that it failed, for
// Reason. Work is as in Answer.
type Presented struct {
	At     Time
	Answer blob.Ref
	Work   blob.Ref
	Reason string
}

// Consulted ends a consultation. Reason is why it failed, empty for a success. Best is the agent
// that a judgement or a tie found best, Same a verdict or a review that submits the answer, Analysis the
// text of an analysis or of a review.
type Consulted struct {
	At       Time
	Best     int
	Same     bool
	Analysis blob.Ref
	Reason   string
}

// Woke is a ring of the clock, which a Wake command requested.
type Woke struct {
	At Time `json:"at"`
}

// Interrupted is a person's interrupt, which ends the turn.
type Interrupted struct {
	At Time `json:"at"`
}

// BudgetSpent reports that the next call does not fit into the budget.
type BudgetSpent struct{ At Time }

func (e Opened) When() Time      { return e.At }
func (e Answered) When() Time    { return e.At }
func (e Voted) When() Time       { return e.At }
func (e Abstained) When() Time   { return e.At }
func (e OutOfTurns) When() Time  { return e.At }
func (e Failed) When() Time      { return e.At }
func (e Stopped) When() Time     { return e.At }
func (e Presented) When() Time   { return e.At }
func (e Consulted) When() Time   { return e.At }
func (e Woke) When() Time        { return e.At }
func (e Interrupted) When() Time { return e.At }
func (e BudgetSpent) When() Time { return e.At }

// Command is a command of the machine: Start, Update, Restrict, Cancel, Wake, Present, Consult or
// Finish.
type Command any

// Offer lists the acts that a step may end with.
type Offer struct {
	// Set identifies the set of answers by the number of answers accepted so far.
	Set int `json:"set"`
	// Shown are the current answers in the config's order.
	Shown []Answer `json:"shown"`
	// MayAnswer is false only if a limit takes new_answer away.
	MayAnswer bool `json:"may_answer"`
	// MayVote are the agents that a vote may name; it is empty in a blind first round.
	MayVote []int `json:"may_vote"`
	// Former is what the step is told of the attempt before; zero in the first one.
	Former Former `json:"former,omitzero"`
	// Reversed reports whether the step is shown the answers in the reverse order.
	Reversed bool `json:"reversed,omitempty"`
}

// Start begins a step of an idle agent.
type Start struct {
	Agent int
	Round int
	Offer Offer
}

// Update tells a busy agent of a new set (rule 8).
type Update struct {
	Agent int
	Offer Offer
}

// Restrict leaves a busy agent only the coordination tools (rule 6).
type Restrict struct{ Agent int }

// Cancel ends an agent's call. Whatever the call returns, the next event is Stopped (or
// Presented, or Consulted).
type Cancel struct{ Agent int }

// Wake requests a Woke event at a moment. It replaces the Wake before it.
type Wake struct{ At Time }

// Present begins the winner's presentation (rule 9): one step without coordination
// tools, which Presented ends.
type Present struct {
	Agent      int
	Round      int
	Offer      Offer
	Votes      []Vote
	Synthesize bool
	// Analysis is the analysis of a judge that synthesizes; zero for the winner.
	Analysis blob.Ref
}

// Consult begins a consultation: one step of an agent outside of the rounds, which Consulted
// ends (rule 17). Agent may be the judge or the other giver of verdicts, whose indices follow
// those of the panel.
type Consult struct {
	Agent   int
	Round   int
	Purpose Purpose
	Offer   Offer
}

// Finish ends the turn. It comes last, and once; Result has the outcome.
type Finish struct{}
