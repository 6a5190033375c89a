package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// firstTools are those that the agents have until something changes them, and simLists
// all that they may have.
var (
	firstTools = []string{"look", "change"}
	simLists   = [][]string{firstTools, {"change", "look"}, {"look"}, {"nothing", "look"}, {}}
)

// simTools are the tools that a server lists, guarded by the simulation's mutex.
type simTools struct {
	list    int // of simLists
	version uint64
}

// changeTools draws another list.
func (s *simulation) changeTools() {
	list := s.below(len(simLists))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools.list = list
	s.tools.version++
}

func (s *simulation) toolsVersion() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools.version
}

// listTools is Options.Tools: all agents have the same. The calls of a turn, which have its
// trace, wait for it as for a server.
func (s *simulation) listTools(ctx context.Context) ([][]agents.Tool, error) {
	if backends.TraceFrom(ctx).Retry != nil {
		if r := s.park(listing, ctx, backends.Request{}); r.err != nil {
			return nil, r.err
		}
	}
	s.mu.Lock()
	names := simLists[s.tools.list]
	s.mu.Unlock()
	list := make([][]agents.Tool, s.plan.agents)
	for i := range list {
		list[i] = s.toolsNamed(names)
	}
	return list, nil
}

func (s *simulation) toolsNamed(names []string) (list []agents.Tool) {
	for _, name := range names {
		if name == "look" {
			list = append(list, lookingTool{simTool{s, name}})
		} else {
			list = append(list, simTool{s, name})
		}
	}
	return list
}

// listingFault draws what goes wrong with a listing.
func (s *simulation) listingFault(p *parked) error {
	switch {
	case p.ctx.Err() != nil:
		return p.ctx.Err()
	case s.rarely(6):
		return errors.New("the server says nothing")
	}
	return nil
}

// checkTools: the coordination tools are what they always are, and behind them stands one
// of the lists, or none.
func (s *simulation) checkTools(req backends.Request) {
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	if req.Key.Purpose == string(effect.Coordination) {
		if len(names) > 0 && names[0] == effect.NewAnswer {
			names = names[1:]
		}
		if len(names) == 0 || names[0] != effect.Vote {
			s.fail("%s was sent without vote: %v", req.Key, req.Tools)
			return
		}
		names = names[1:]
	}
	if len(names) > 0 && !slices.ContainsFunc(simLists, func(list []string) bool { return slices.Equal(list, names) }) {
		s.fail("%s was sent the tools %s", req.Key, strings.Join(names, ", "))
	}
}

// sentTools follows a journal, and finds calls that were not sent the tools that their
// agent had when they were asked for, and replies that were not read by these.
type sentTools struct {
	s *simulation
	// now are each agent's tools, asked those of the calls.
	now   [][]string
	asked map[effect.Key][]string
}

func (l *sentTools) follow(ctx context.Context, ev turn.Event, commands []turn.Command) (err error) {
	switch ev := ev.(type) {
	case turn.Accepted:
		l.now = make([][]string, ev.Turn.Size()) // a judge has none of its own
		for i, a := range ev.Turn.Agents {
			if l.now[i], err = l.read(ctx, a.Tools); err != nil {
				return err
			}
		}
	case turn.ToolsChanged:
		l.now[ev.Agent], err = l.read(ctx, ev.Tools)
	case turn.ModelDone:
		err = l.done(ctx, ev)
	}
	for _, c := range commands {
		run, _ := c.(turn.Run)
		if call, ok := run.Effect.(effect.ModelCall); ok && call.Sidecall == nil && call.OwnTools {
			l.asked[call.Key] = l.now[call.Key.Agent]
			if call.Analysis != (blob.Ref{}) {
				l.asked[call.Key] = nil
			}
		}
	}
	return err
}

func (l *sentTools) done(ctx context.Context, ev turn.ModelDone) error {
	asked, offered := l.asked[ev.Key]
	if !offered || ev.Reply.Sent == nil {
		return nil
	}
	sent, err := l.read(ctx, ev.Reply.Sent.Tools)
	if err != nil {
		return err
	}
	sent = slices.DeleteFunc(sent, func(name string) bool { return name == effect.NewAnswer || name == effect.Vote })
	if !slices.Equal(asked, sent) {
		return fmt.Errorf("%s was sent the tools %q, and its agent had %q", ev.Key, sent, asked)
	}
	for _, c := range ev.Reply.Calls {
		if c.Own != slices.Contains(asked, c.Name) {
			return fmt.Errorf("%s: %s is taken for own=%t, of the tools %q", ev.Key, c.Name, c.Own, asked)
		}
	}
	return nil
}

// read returns the names of a list.
func (l *sentTools) read(ctx context.Context, ref blob.Ref) (names []string, err error) {
	if ref == (blob.Ref{}) {
		return nil, nil
	}
	data, err := l.s.store.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	var tools []backends.Tool
	err = json.Unmarshal(data, &tools)
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names, err
}

// checkReplay: each input is built again with the tools that were sent.
func (s *simulation) checkReplay(ctx context.Context, r report.Result) {
	if !s.plan.changes {
		return
	}
	kept, err := s.store.Turns(ctx, "s", 1)
	if err == nil {
		_, err = Replay(ctx, s.store.Store, "s", kept[len(kept)-1])
	}
	if err != nil {
		s.fail("turn %d does not replay: %v", r.Turn, err)
	}
}
