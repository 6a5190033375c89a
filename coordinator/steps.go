package coordinator

import (
	"context"

	"github.com/massgen/massgen/internal/machine"
)

// steps are the contexts of the agents' work, and of the calls that belong to none, which
// share one.
type steps struct {
	root   context.Context
	ctx    map[int]context.Context // by agent
	cancel map[int]context.CancelFunc
}

func newSteps(root context.Context) steps {
	return steps{root, map[int]context.Context{}, map[int]context.CancelFunc{}}
}

// Begin implements driver.Runtime. The calls that belong to no agent hold up the turn for
// asideLimit at most.
func (s steps) Begin(agent int) {
	if agent == machine.NoAgent {
		s.ctx[agent], s.cancel[agent] = context.WithTimeout(s.root, asideLimit)
		return
	}
	s.ctx[agent], s.cancel[agent] = context.WithCancel(s.root)
}

func (s steps) of(agent int) context.Context {
	if s.ctx[agent] == nil {
		s.Begin(agent)
	}
	return s.ctx[agent]
}

// Cancel implements driver.Runtime.
func (s steps) Cancel(agent int) {
	s.of(agent)
	s.cancel[agent]()
}

func (s steps) endAll() {
	for _, cancel := range s.cancel {
		cancel()
	}
}
