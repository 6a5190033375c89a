package picture

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// Source is what a picture needs beside the journal of its turn.
type Source struct {
	Session string
	Turn    int
	// Texts reads the texts that the journal names.
	Texts agents.Lookup
	// Inputs has what each model call was sent and replied, in words. It may be nil.
	Inputs map[backends.Key]string
}

// The names of the lanes that are no agent's.
const (
	sidecallLane = "sidecalls"
	turnLane     = "turn"
	finalRound   = "final answer"
)

// New returns the picture of a turn from its journal. If the journal is damaged, or a text is
// missing, it returns an error beside the picture of what could be read.
func New(journal [][]byte, s Source) (p Picture, err error) {
	pr := &projection{
		Picture: Picture{Session: s.Session, Turn: s.Turn}, source: s, machine: new(turn.Machine),
		answered: map[string]time.Duration{},
	}
	pr.report = report.New(pr.machine, report.Source{Session: s.Session, Turn: s.Turn, Texts: s.Texts})
	err = pr.readAll(journal)
	if !pr.machine.Begun() {
		return pr.Picture, cmp.Or(err, errors.New("its journal is empty"))
	}
	return pr.Picture, cmp.Or(err, pr.finish())
}

// projection is a picture of the events so far.
type projection struct {
	Picture
	source  Source
	machine *turn.Machine
	report  *report.Report
	began   kernel.Time
	isEager bool
	// last is the time of the newest event.
	last time.Duration
	// open are the calls without a result.
	open []openCall
	// answered has when each answer was given, by its label.
	answered map[string]time.Duration
	turn     []Mark // of the whole turn
	sidecall int    // the lane of the calls of no agent, 0 if there is none
	// round is the newest round of all agents.
	round int
}

// openCall is a call without a result, with its place in Calls.
type openCall struct {
	key  effect.Key
	call int
}

// readAll applies the journal up to the first event that cannot be read. A damaged import may
// break the machine.
func (p *projection) readAll(journal [][]byte) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the machine panicked: %v", fault)
		}
	}()
	for i, data := range journal {
		ev, err := turn.Decode(data)
		var commands []turn.Command
		if err == nil {
			commands, err = p.machine.Apply(ev)
		}
		if err != nil {
			return fmt.Errorf("event %d of its journal: %w", i+1, err)
		}
		p.apply(ev, commands)
	}
	return nil
}

func (p *projection) apply(ev turn.Event, commands []turn.Command) {
	if accepted, ok := ev.(turn.Accepted); ok {
		p.accept(accepted)
	}
	p.last = max(p.last, time.Duration(ev.When()-p.began)*time.Millisecond)
	switch ev := ev.(type) {
	case turn.ModelDone:
		p.end(ev.Key, ev.Reply)
	case turn.Lost:
		p.lose(ev.Key)
	case turn.Resumed:
		p.resume()
	case kernel.Interrupted:
		p.markTurn(CutMark)
	}
	for _, c := range commands {
		if run, ok := c.(turn.Run); ok {
			if call, ok := run.Effect.(effect.ModelCall); ok {
				p.begin(call.Key)
			}
		}
	}
	for _, told := range p.report.Apply(ev, commands) {
		p.see(told)
	}
}

func (p *projection) accept(ev turn.Accepted) {
	p.began = ev.At
	p.Began = time.UnixMilli(int64(ev.At)).UTC()
	p.isEager = ev.Rules.Pace == kernel.PaceEager
	for _, a := range ev.Turn.Agents {
		p.Lanes = append(p.Lanes, Lane{Name: a.ID, IsAgent: true, Model: a.Model})
	}
}

// begin adds a model call, unless it is under way already.
func (p *projection) begin(key effect.Key) {
	if p.indexOf(key) >= 0 {
		return
	}
	c := Call{From: p.last, To: p.last, End: CallOpen, Lane: key.Agent, Key: backends.Key{
		Session: p.Session, Turn: p.Turn, Round: key.Round, Purpose: string(key.Purpose), Index: key.Index,
	}}
	if key.Agent == effect.NoAgent {
		if p.sidecall == 0 {
			p.sidecall = len(p.Lanes)
			p.Lanes = append(p.Lanes, Lane{Name: sidecallLane})
		}
		c.Lane = p.sidecall
		c.Key.Round, c.Key.Index = 0, 0 // as in its request
	} else {
		c.Key.Agent, c.Model = p.Lanes[key.Agent].Name, p.Lanes[key.Agent].Model
	}
	c.Input = p.source.Inputs[c.Key]
	p.open = append(p.open, openCall{key, len(p.Calls)})
	lane := &p.Lanes[c.Lane]
	lane.Calls = append(lane.Calls, len(p.Calls))
	p.Calls = append(p.Calls, c)
}

// indexOf returns the place in open of the call with a key, -1 if there is none.
func (p *projection) indexOf(key effect.Key) int {
	return slices.IndexFunc(p.open, func(o openCall) bool { return o.key == key })
}

// closeCall returns the call with a key and takes it out of those without a result.
func (p *projection) closeCall(key effect.Key, end CallEnd) (c *Call, isOpen bool) {
	i := p.indexOf(key)
	if i < 0 {
		return nil, false
	}
	c = &p.Calls[p.open[i].call]
	c.To, c.End = p.last, end
	p.open = slices.Delete(p.open, i, i+1)
	return c, true
}

func (p *projection) end(key effect.Key, reply effect.ModelReply) {
	c, isOpen := p.closeCall(key, CallDone)
	if !isOpen {
		return
	}
	c.Usage = turn.UsageOf(reply)
	if f := reply.Fallback; f != nil {
		c.Model = f.To
	}
	if f := reply.Failure; f != nil {
		c.End, c.Why = CallFailed, f.Kind
	}
}

// lose ends a call whose worker was lost, and begins it again.
func (p *projection) lose(key effect.Key) {
	if c, isOpen := p.closeCall(key, CallLost); isOpen {
		c.Input = "" // the next one has it
		p.begin(key)
	}
}

// resume loses all calls that another process had under way.
func (p *projection) resume() {
	p.markTurn(ResumeMark)
	for _, o := range slices.Clone(p.open) {
		p.lose(o.key)
	}
}

// see adds what an event shows.
func (p *projection) see(ev report.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		p.startRound(ev.Round, ev.Purpose)
	case report.Answered:
		p.answered[ev.Label] = p.last
		p.mark(ev.Actor, Mark{Kind: AnswerMark, Label: ev.Label, Void: ev.Void != ""})
	case report.Presented:
		p.mark(ev.Actor, Mark{Kind: FinalMark})
	case report.Voted:
		p.mark(ev.Actor, Mark{Kind: VoteMark, Label: ev.Label, Void: ev.Void != ""})
	case report.Abstained:
		p.mark(ev.Actor, Mark{Kind: AbstainMark})
	case report.Failed:
		p.mark(ev.Actor, Mark{Kind: FailMark})
	case report.Cancelled:
		p.mark(ev.Actor, Mark{Kind: CancelMark})
	case report.Dismissed:
		p.mark(ev.Actor, Mark{Kind: DismissMark})
	case report.Noted:
		p.markTurn(NoteMark)
	case report.Paused:
		p.markTurn(PauseMark)
	case report.Unpaused:
		p.markTurn(ContinueMark)
	}
}

func (p *projection) mark(by report.Actor, m Mark) {
	i := slices.IndexFunc(p.Lanes, func(l Lane) bool { return l.IsAgent && l.Name == by.Agent })
	if i < 0 {
		return
	}
	m.At, m.Target = p.last, -1
	p.Lanes[i].Marks = append(p.Lanes[i].Marks, m)
}

func (p *projection) markTurn(kind MarkKind) {
	p.turn = append(p.turn, Mark{Kind: kind, At: p.last, Target: -1})
}

// startRound notes where a round begins whose number is new.
func (p *projection) startRound(number int, purpose effect.Purpose) {
	switch {
	case p.isEager:
	case purpose.IsFinalAnswer():
		p.Rounds = append(p.Rounds, Round{Name: finalRound, At: p.last})
	case purpose == effect.Coordination && number > p.round:
		p.round = number
		p.Rounds = append(p.Rounds, Round{Name: fmt.Sprintf("round %d", number), At: p.last})
	}
}
