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

// Source has the data that a picture needs beside the journal of its turn.
type Source struct {
	Session string
	Turn    int
	// Texts reads the texts that the journal names.
	Texts agents.Lookup
	// Inputs has the input and reply of each model call in words. It may be nil.
	Inputs map[backends.Key]string
}

// The names of the lanes without an agent.
const (
	sidecallLane = "sidecalls"
	turnLane     = "turn"
	finalRound   = "final answer"
)

// New returns the picture of a turn from its journal. If the journal is damaged or a text is missing, it
// returns an error beside the picture of the readable part.
func New(journal [][]byte, s Source) (p Picture, err error) {
	pr := &projection{
		Picture: Picture{Session: s.Session, Turn: s.Turn}, source: s, machine: new(turn.Machine), state: report.NewState(),
	}
	pr.report = report.New(pr.machine, report.Source{Session: s.Session, Turn: s.Turn, Texts: s.Texts})
	err = pr.readAll(journal)
	if !pr.machine.Begun() {
		return pr.Picture, cmp.Or(err, errors.New("its journal is empty"))
	}
	err = cmp.Or(err, pr.finish())
	return pr.Picture, err
}

// projection is a picture of the events so far.
type projection struct {
	Picture
	source  Source
	machine *turn.Machine
	report  *report.Report
	state   *report.State
	began   kernel.Time
	isEager bool
	// last is the time of the newest event.
	last time.Duration
	// open are the calls without a result.
	open     []openCall
	turn     []Mark // of the whole turn
	sidecall int    // the lane of the calls of no agent, 0 if there is none
}

// openCall is a call without a result, with its place in Calls.
type openCall struct {
	key  effect.Key
	call int
}

// readAll applies the journal up to the first unreadable event. A damaged import may break the machine.
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
	notes, wasPaused := len(p.state.Notes), p.state.Paused
	for _, told := range p.report.Apply(ev, commands) {
		p.state.Apply(report.Stamp(told, p.Began.Add(p.last), false))
	}
	switch {
	case len(p.state.Notes) > notes:
		p.markTurn(NoteMark)
	case p.state.Paused && !wasPaused:
		p.markTurn(PauseMark)
	case wasPaused && !p.state.Paused:
		p.markTurn(ContinueMark)
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

// begin adds a model call, unless it is running already.
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
		c.Lane = p.laneAt(key.Agent)
		c.Key.Agent, c.Model = p.Lanes[c.Lane].Name, p.Lanes[c.Lane].Model
	}
	c.Input = p.source.Inputs[c.Key]
	p.open = append(p.open, openCall{key, len(p.Calls)})
	lane := &p.Lanes[c.Lane]
	lane.Calls = append(lane.Calls, len(p.Calls))
	p.Calls = append(p.Calls, c)
}

// laneAt returns the lane of an agent by its index. It adds the lane of a consultant outside of the panel.
func (p *projection) laneAt(agent int) int {
	a := p.machine.Turn().Agent(agent)
	if i := p.laneOf(a.ID); i >= 0 {
		return i
	}
	p.Lanes = append(p.Lanes, Lane{Name: a.ID, IsAgent: true, Model: a.Model})
	return len(p.Lanes) - 1
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

// resume ends all calls that another process had begun as lost.
func (p *projection) resume() {
	p.markTurn(ResumeMark)
	for _, o := range slices.Clone(p.open) {
		p.lose(o.key)
	}
}

// markTurn adds a mark of the whole turn.
func (p *projection) markTurn(kind MarkKind) {
	p.turn = append(p.turn, Mark{Kind: kind, At: p.last, Target: -1})
}
