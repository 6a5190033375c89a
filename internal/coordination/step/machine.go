package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// Task is the task of a step.
type Task struct {
	Agent   int            `json:"agent"`
	Round   int            `json:"round"`
	Purpose effect.Purpose `json:"purpose"`
	Offer   kernel.Offer   `json:"offer"`
	Votes   []kernel.Vote  `json:"votes,omitempty"`
	// Analysis is as in effect.ModelCall. First is the number of the step's first model call: calls
	// of earlier consultations of the agent come before it.
	Analysis blob.Ref `json:"analysis,omitzero"`
	First    int      `json:"first,omitempty"`
	// Notes are a person's notes from before the step began.
	Notes  []blob.Ref    `json:"notes,omitempty"`
	Limits effect.Limits `json:"limits"`
	// JSON begins the step in JSON mode. MayUseJSON lets the step change to JSON mode later
	// (ToolsAuto).
	JSON       bool `json:"json,omitempty"`
	MayUseJSON bool `json:"may_use_json,omitempty"`
	// Carried are the agent's tool calls of earlier rounds and turns, with their results.
	Carried []effect.Entry `json:"carried,omitempty"`
	// Snapshot reports whether the agent's answer gets a snapshot of the agent's workspace.
	Snapshot bool `json:"snapshot,omitempty"`
	// Check is made of the answer; nil for none. Work is the work to check of an agent without a
	// workspace, zero for none.
	Check *effect.Check `json:"check,omitempty"`
	Work  blob.Ref      `json:"work,omitzero"`
	// Context is the part of the step that inputs have, if summaries cover the rest; nil if
	// there are none.
	Context *policy.StepLimits `json:"context,omitempty"`
}

// Step is one agent's step under way.
type Machine struct{ s state }

type state struct {
	Task Task `json:"task"`
	// Offer is the offer in the input of the last call. Next is a newer offer that the model
	// has not seen yet.
	Offer kernel.Offer  `json:"offer"`
	Next  *kernel.Offer `json:"next,omitempty"`
	// Notes are the notes that the model has not seen yet.
	Notes      []blob.Ref     `json:"notes,omitempty"`
	Transcript []effect.Entry `json:"transcript,omitempty"`
	// Calls counts the model calls so far. Tools counts the calls of the agent's own tools,
	// including denied calls. Attempts counts the messages that came to nothing (rule 7).
	Calls    int `json:"calls"`
	Tools    int `json:"tools"`
	Attempts int `json:"attempts"`
	// FirstText is the first non-empty text of an attempt (rule 7). If no attempt had a text,
	// it is the first non-empty text of the step. FirstIsAttempt tells these two cases apart.
	FirstText      blob.Ref `json:"first_text,omitzero"`
	FirstHash      string   `json:"first_hash,omitempty"`
	FirstValue     string   `json:"first_value,omitempty"`
	FirstIsAttempt bool     `json:"first_is_attempt,omitempty"`
	Restricted     bool     `json:"restricted,omitempty"`
	// Repaired reports whether the model was asked once more for an answer that fits the schema.
	Repaired bool `json:"repaired,omitempty"`
	// Blank describes the newest message that had neither a text nor a call. AskedAgain reports
	// whether a conversation was repeated after such a message.
	Blank      string `json:"blank,omitempty"`
	AskedAgain bool   `json:"asked_again,omitempty"`
	// Checking reports whether Answer is being checked. Checked counts the checks that failed and sent the
	// answer back.
	Checking bool `json:"checking,omitempty"`
	Checked  int  `json:"checked,omitempty"`
	// JSON reports whether the model has to act by JSON objects. Ignored counts the messages that
	// called no tool.
	JSON    bool `json:"json,omitempty"`
	Ignored int  `json:"ignored,omitempty"`
	// OwnTools reports whether the last call offered the agent's own tools, and Exceeded whether
	// the model called them more often than MaxToolCalls allows.
	OwnTools  bool `json:"own_tools,omitempty"`
	Exceeded  bool `json:"exceeded,omitempty"`
	Cancelled bool `json:"cancelled,omitempty"`
	// LeftOut is the number of the oldest entries for which a summary was requested, and
	// Summary is the newest one. Summaries counts the calls for summaries so far.
	LeftOut   int                 `json:"left_out,omitempty"`
	Summary   *effect.StepSummary `json:"summary,omitempty"`
	Summaries int                 `json:"summaries,omitempty"`
	// Waiting reports whether a model call is out, and Summarizing whether that call is for a
	// summary. Pending are the tool calls that are out. When they are back, the step ends with
	// Act, if Act is not nil. Answer is not nil while a snapshot is out. When the snapshot is
	// back, the step ends with Answer.
	Waiting               bool                       `json:"waiting,omitempty"`
	Summarizing           bool                       `json:"summarizing,omitempty"`
	Pending               []pending                  `json:"pending,omitempty"`
	NewPermissionRequests []effect.PermissionRequest `json:"new_asks,omitempty"`
	NewRefusals           []Refusal                  `json:"new_refusals,omitempty"`
	Act                   *Outcome                   `json:"act,omitempty"`
	Answer                *Outcome                   `json:"answer,omitempty"`
	Outcome               Outcome                    `json:"outcome"`
}

// pending is a tool call that is out, and the index of the transcript entry for its result. If Permission
// is not nil, the call is not out yet, because a person has to permit the call first.
type pending struct {
	Index      int                       `json:"index"`
	Entry      int                       `json:"entry"`
	Permission *effect.PermissionRequest `json:"ask,omitempty"`
}

const stateVersion = 1

type stepJSON struct {
	Version int   `json:"version"`
	State   state `json:"state"`
}

// MarshalJSON encodes the whole step, with a version.
func (s *Machine) MarshalJSON() ([]byte, error) { return json.Marshal(stepJSON{stateVersion, s.s}) }

// UnmarshalJSON decodes a step that MarshalJSON encoded. It refuses other versions.
func (s *Machine) UnmarshalJSON(data []byte) error {
	var in stepJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read step state: %w", err)
	}
	if in.Version != stateVersion {
		return fmt.Errorf("read step state: it has version %d, this program reads version %d", in.Version, stateVersion)
	}
	s.s = in.State
	return nil
}

// Begin starts a step and returns it with its first effect.
func Begin(task Task) (*Machine, []effect.Effect) {
	s := &Machine{state{Task: task, Offer: task.Offer, JSON: task.JSON && task.Purpose == effect.Coordination}}
	s.tellFinalTurn()
	return s, []effect.Effect{s.callModel()}
}

// Outcome returns the outcome of the step. The outcome's Kind is empty while the step goes on.
func (s *Machine) Outcome() Outcome { return s.s.Outcome }

// Offer returns the offer in the input of the last call. The caller must not change it.
func (s *Machine) Offer() kernel.Offer { return s.s.Offer }

// Transcript returns the entries that the step has added to its first input, including the last
// message. The caller must not change them.
func (s *Machine) Transcript() []effect.Entry { return slices.Clip(s.s.Transcript) }

// JSON reports whether the step asks the model to act by JSON objects now.
func (s *Machine) JSON() bool { return s.s.JSON }

// Waits reports whether the effect with key k is out.
func (s *Machine) Waits(k effect.Key) bool {
	isModel := s.s.Waiting && k == s.callingKey()
	isSnapshot := s.s.Answer != nil && !s.s.Checking && k == s.snapshotKey() || s.s.Checking && k == s.checkKey()
	return isModel || isSnapshot || slices.ContainsFunc(s.s.Pending, func(p pending) bool { return p.Permission == nil && k == s.toolKey(p.Index) })
}

// Calling returns the key of the model call that is out. ok is false if no model call is out.
func (s *Machine) Calling() (key effect.Key, ok bool) { return s.callingKey(), s.s.Waiting }

func (s *Machine) callingKey() effect.Key {
	if s.s.Summarizing {
		return s.key(effect.StepSummarizing, effect.FinalStepSummarizing, s.s.Summaries-1)
	}
	return s.modelKey(s.s.Calls - 1)
}

// NotesTold returns the number of notes in the input of the model call that is out.
func (s *Machine) NotesTold() int { return s.input().NotesTold() }

// Calls returns the number of model calls so far, without those for summaries.
func (s *Machine) Calls() int { return s.s.Calls }

// Cancelled reports whether the step was cancelled. A cancelled step ends when its effects are
// back.
func (s *Machine) Cancelled() bool { return s.s.Cancelled }

// Out returns the number of effects that are out and of tool calls that wait for a person.
func (s *Machine) Out() int {
	if s.s.Waiting || s.s.Answer != nil {
		return 1
	}
	return len(s.s.Pending)
}

// Apply applies the result of an effect and returns the effects to run now. If the step does not
// wait for the result, Apply returns an error and changes nothing.
func (s *Machine) Apply(r effect.Reply) ([]effect.Effect, error) {
	if s.s.Outcome.Kind != "" {
		return nil, errors.New("step: it has ended")
	}
	switch r := r.(type) {
	case effect.ModelReply:
		if !s.s.Waiting {
			return nil, errors.New("step: no model call is out")
		}
		s.s.Waiting = false
		if s.s.Summarizing {
			return s.applySummary(r), nil
		}
		return s.applyReply(r), nil
	case effect.ToolReply:
		switch {
		case s.s.Checking:
			return s.applyCheck(r)
		case s.s.Answer != nil:
			return s.applySnapshot(r)
		}
		return s.applyResult(r)
	}
	return nil, fmt.Errorf("step: unknown result %T", r)
}

// Obey carries out a command of the kernel to the step's agent: Update gives it a newer set of
// answers, Restrict leaves it only the coordination tools, and Cancel ends the step once its effects
// have returned.
func (s *Machine) Obey(c kernel.Command) error {
	if s.s.Outcome.Kind != "" {
		return errors.New("step: it has ended")
	}
	switch c := c.(type) {
	case kernel.Update:
		s.s.Next = &c.Offer
	case kernel.Restrict:
		s.s.Restricted = true
	case kernel.Cancel:
		s.s.Cancelled = true
	default:
		return fmt.Errorf("step: unknown command %T", c)
	}
	return nil
}

// AddNote gives the step a person's addition to the question.
func (s *Machine) AddNote(text blob.Ref) { s.s.Notes = append(s.s.Notes, text) }

// isConversation reports whether the step ends with a text and offers no coordination tools (rules
// 1 and 9).
func (s *Machine) isConversation() bool { return s.s.Task.Purpose != effect.Coordination }

func (s *Machine) callModel() effect.Effect {
	s.s.OwnTools = !s.s.JSON && !s.s.Restricted && s.mayUseTools() && !s.s.Task.Purpose.IsConsultation()
	call := s.input()
	s.s.Calls++
	s.s.Waiting = true
	return call
}

// input returns the model call that would be made now. It shares the step's entries: once a call is sent, the
// step adds others and changes none of these.
func (s *Machine) input() effect.ModelCall {
	return effect.ModelCall{
		Key:        s.modelKey(s.s.Calls),
		Offer:      s.s.Task.Offer,
		Votes:      s.s.Task.Votes,
		Notes:      s.s.Task.Notes,
		Transcript: slices.Clip(s.s.Transcript),
		Carried:    s.s.Task.Carried,
		Summary:    s.s.Summary,
		Analysis:   s.s.Task.Analysis,
		OwnTools:   s.s.OwnTools,
		JSON:       s.s.JSON,
	}
}

// Recall returns the model call that is out, with the notes and the newer answers that came after
// the call was made. The caller must not have sent the call yet. ok is false if no model call is
// out.
func (s *Machine) Recall() (call effect.Effect, ok bool) {
	switch {
	case !s.s.Waiting:
		return nil, false
	case s.s.Summarizing: // the news is for the call after it
		s.s.Summaries--
		return s.callSummary(), true
	}
	s.applyNews()
	s.s.Calls--
	return s.callModel(), true
}

// applyNews adds what has come since the last result to the input of the next call.
func (s *Machine) applyNews() {
	if i := s.lastSaid(); i < 0 {
		s.s.Task.Notes = slices.Concat(s.s.Task.Notes, s.s.Notes)
	} else {
		last := &s.s.Transcript[i]
		last.Notes = slices.Concat(last.Notes, s.s.Notes)
		s.update(last)
	}
	s.s.Notes = nil
}

func (s *Machine) modelKey(index int) effect.Key {
	return effect.Key{Agent: s.s.Task.Agent, Round: s.s.Task.Round, Purpose: s.s.Task.Purpose, Index: s.s.Task.First + index}
}

func (s *Machine) toolKey(index int) effect.Key { return s.key(effect.Tool, effect.FinalTool, index) }

// key returns the key of an effect that is no call of the step's own purpose. A final answer has
// purposes of its own, since the same agent may have worked earlier in the same round.
func (s *Machine) key(purpose, final effect.Purpose, index int) effect.Key {
	key := s.modelKey(index)
	key.Purpose = purpose
	if s.s.Task.Purpose.IsFinalAnswer() {
		key.Purpose = final
	}
	return key
}

// applyReply applies the reply to a model call. The message ends the step, calls tools, or comes to
// nothing.
func (s *Machine) applyReply(r effect.ModelReply) []effect.Effect {
	switch {
	case s.s.Cancelled:
		return s.end(Outcome{Kind: Stopped, Reason: "cancelled"})
	case r.Failure != nil && r.Failure.NoTools && s.mayUseJSON():
		s.s.JSON = true
		return []effect.Effect{s.callModel()}
	case r.Failure != nil:
		return s.end(Outcome{Kind: Failed, Reason: r.Failure.Message})
	}
	if s.s.Task.Purpose.IsConsultation() {
		return s.endConsultation(r)
	}
	s.s.Blank = r.Blank
	if s.s.FirstText == (blob.Ref{}) && !s.s.JSON { // no JSON object becomes FirstText
		s.s.FirstText, s.s.FirstHash, s.s.FirstValue = r.Text, r.Hash, r.Value
	}
	if s.isConversation() && len(r.Calls) == 0 {
		return s.endConversation(r)
	}
	return s.applyCalls(r)
}

// endConversation ends the step with the text as the answer (rule 1).
func (s *Machine) endConversation(r effect.ModelReply) []effect.Effect {
	if r.Blank != "" && !s.s.AskedAgain && !s.isLastCall() {
		return s.askAgain()
	}
	if r.Markup {
		return s.refuseMarkup(r)
	}
	if r.Problem != "" {
		return s.repairAnswer(r)
	}
	if r.Text == (blob.Ref{}) {
		return s.end(Outcome{Kind: Failed, Reason: r.BlankReason()})
	}
	s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.Assistant, Text: r.Message})
	return s.act(Outcome{Kind: Answered, Answer: r.Text, Hash: r.Hash, Value: r.Value})
}

// askAgain makes the call again after an empty message, with the notes and answers that came meanwhile.
func (s *Machine) askAgain() []effect.Effect {
	s.s.AskedAgain = true
	s.s.Transcript = slices.Clone(s.s.Transcript) // the call that is over keeps its entries
	s.applyNews()
	if i := len(s.s.Transcript) - 1; i < 0 || s.s.Transcript[i].Kind != effect.FinalTurn {
		s.tellFinalTurn()
	}
	return []effect.Effect{s.callModel()}
}

// applyCalls handles the tool calls of a message. It first starts the calls of the agent's own
// tools, which run concurrently. When they are back, the message's act ends the step. A message has
// an act only if it calls exactly one coordination tool and the call is valid. applyCalls enters the
// error of a refused call into the transcript.
func (s *Machine) applyCalls(r effect.ModelReply) []effect.Effect {
	act, refused := s.judgeActs(r.Calls)
	if r.Cut {
		act = s.refuseCut(r, act, refused)
	}
	s.s.Act = act
	s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.Assistant, Text: r.Message})
	var effects []effect.Effect
	asked, called := len(s.s.NewPermissionRequests), s.s.Tools
	for i, c := range r.Calls {
		entry := effect.Entry{Kind: effect.Result, CallID: c.ID, Name: c.Name, JSON: s.s.JSON}
		switch {
		case c.IsAct() && !s.isConversation():
			entry.Notice = refused[i]
		case c.Own && s.s.OwnTools && s.exceeds():
			s.s.Exceeded = true
			s.turnDown(c, r.Message, i, fmt.Sprintf("the limit of tool calls is %d", s.s.Task.Limits.MaxToolCalls))
			entry.Notice = &effect.Notice{Code: effect.TooManyCalls, Detail: strconv.Itoa(s.s.Task.Limits.MaxToolCalls)}
		case c.Own && s.s.OwnTools && c.Permission == effect.Denied:
			entry.Notice = s.refuse(s.newCall(c, r.Message, i), c.Why)
		case c.Own && s.s.OwnTools && c.Permission == effect.Asked:
			s.requestPermission(s.newCall(c, r.Message, i), c.Why, len(s.s.Transcript))
		case c.Own && s.s.OwnTools:
			call := s.newCall(c, r.Message, i)
			s.s.Pending = append(s.s.Pending, pending{Index: call.Key.Index, Entry: len(s.s.Transcript)})
			effects = append(effects, call)
		default:
			s.turnDown(c, r.Message, i, "there is no such tool on offer")
			entry.Notice = &effect.Notice{Code: effect.ToolsWithdrawn, Detail: c.Name}
		}
		s.s.Transcript = append(s.s.Transcript, entry)
	}
	isAsking := len(s.s.NewPermissionRequests) > asked
	if act == nil && (len(refused) > 0 || s.s.Tools == called) {
		s.attempted(r)
	}
	if len(r.Calls) == 0 {
		s.s.Ignored++
	}
	switch {
	case len(effects) > 0 || isAsking:
		return effects
	case act == nil && s.isOutOfTurns(r.Calls):
		return s.endOutOfTurns()
	}
	return s.goOn()
}

// ToolCalls returns the number of calls of the agent's own tools so far, including denied calls.
func (s *Machine) ToolCalls() int { return s.s.Tools }

// attempted counts a message that came to nothing. The first text of such a message replaces an
// earlier text from beside a tool call, because the earlier text was about the tool.
func (s *Machine) attempted(r effect.ModelReply) {
	s.s.Attempts++
	if !s.s.JSON && !s.s.FirstIsAttempt && r.Text != (blob.Ref{}) {
		s.s.FirstText, s.s.FirstHash, s.s.FirstValue, s.s.FirstIsAttempt = r.Text, r.Hash, r.Value, true
	}
}

func (s *Machine) applyResult(r effect.ToolReply) ([]effect.Effect, error) {
	i := slices.IndexFunc(s.s.Pending, func(p pending) bool { return p.Index == r.Index && p.Permission == nil })
	if i < 0 {
		return nil, fmt.Errorf("step: no tool call %d is out", r.Index)
	}
	entry := &s.s.Transcript[s.s.Pending[i].Entry]
	entry.Text, entry.Error, entry.ElapsedMS, entry.Files = r.Result, r.Error, r.ElapsedMS, r.Files
	return s.settle(i), nil
}

// settle removes a pending call that has its result. After the last pending call the step goes on.
func (s *Machine) settle(i int) []effect.Effect {
	s.s.Pending = slices.Delete(s.s.Pending, i, i+1)
	if len(s.s.Pending) > 0 {
		return nil
	}
	return s.goOn()
}

// goOn continues the step when every call of the last message has its result.
func (s *Machine) goOn() []effect.Effect {
	switch {
	case s.s.Cancelled:
		return s.end(Outcome{Kind: Stopped, Reason: "cancelled"})
	case s.s.Act != nil:
		return s.act(*s.s.Act)
	case s.s.Attempts >= s.s.Task.Limits.MaxAttempts, s.isLastCall():
		return s.giveUp()
	}
	if s.s.Ignored >= maxIgnored && s.mayUseJSON() {
		s.s.JSON = true
	}
	s.tell()
	return []effect.Effect{s.next()}
}

// maxIgnored is the number of messages without a tool call after which ToolsAuto changes to JSON
// mode.
const maxIgnored = 2

func (s *Machine) mayUseJSON() bool { return s.s.Task.MayUseJSON && !s.s.JSON && !s.isConversation() }

// tell adds to the transcript the news for the model's next call. After a message without any call
// it adds a reminder (rule 7). Otherwise it adds a newer set of answers to the last result (rule
// 8). To the reminder or the result it also adds the notes of a person (rule 11). A message that this
// is the last turn follows.
func (s *Machine) tell() {
	if s.s.Transcript[len(s.s.Transcript)-1].Kind == effect.Assistant {
		s.s.Transcript = append(s.s.Transcript, effect.Entry{
			Kind: effect.Reminder, JSON: s.s.JSON, MayAnswer: s.s.Offer.MayAnswer, MayVote: len(s.s.Offer.MayVote) > 0,
		})
	}
	last := &s.s.Transcript[len(s.s.Transcript)-1]
	last.Notes, s.s.Notes = s.s.Notes, nil
	last.Final = !s.s.Task.Limits.FinalMessage && !s.s.JSON && s.isFinalTurn()
	s.update(last)
	s.tellFinalTurn()
}

// tellFinalTurn adds the message that the next call is the last turn, if it is.
func (s *Machine) tellFinalTurn() {
	if s.s.Task.Limits.FinalMessage && !s.s.JSON && s.isFinalTurn() {
		s.s.Transcript = append(s.s.Transcript, effect.Entry{Kind: effect.FinalTurn})
	}
}

// lastSaid returns the index of the last entry before a message that this is the last turn, or -1.
func (s *Machine) lastSaid() int {
	i := len(s.s.Transcript) - 1
	if i >= 0 && s.s.Transcript[i].Kind == effect.FinalTurn {
		i--
	}
	return i
}

// update adds the newer set of answers, if there is one, to the last entry if that is a result.
func (s *Machine) update(last *effect.Entry) {
	if last.Kind == effect.Result && s.s.Next != nil {
		last.Update, s.s.Offer, s.s.Next = s.s.Next, *s.s.Next, nil
	}
}

// hasAnswer reports whether the agent's own answer is among the answers that it was shown.
func (s *Machine) hasAnswer() bool {
	return slices.ContainsFunc(s.s.Offer.Shown, func(a kernel.Answer) bool { return a.Agent == s.s.Task.Agent })
}

func (s *Machine) end(o Outcome) []effect.Effect {
	o.Seen = s.s.Offer.Set
	s.s.Outcome = o
	return nil
}
