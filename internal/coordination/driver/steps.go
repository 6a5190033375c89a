package driver

// Steps are the contexts of the agents' work, by agent, and one shared context for work that
// belongs to no agent. C is the runtime's type of a context. One goroutine owns them.
type Steps[C any] struct {
	begin func(agent int) (C, func())
	steps map[int]step[C]
}

type step[C any] struct {
	ctx    C
	cancel func()
}

// NewSteps returns steps. begin makes each context, with a function that cancels it.
func NewSteps[C any](begin func(agent int) (ctx C, cancel func())) Steps[C] {
	return Steps[C]{begin, map[int]step[C]{}}
}

// Begin implements Runtime.
func (s Steps[C]) Begin(agent int) {
	ctx, cancel := s.begin(agent)
	s.steps[agent] = step[C]{ctx, cancel}
}

// Cancel implements Runtime.
func (s Steps[C]) Cancel(agent int) {
	s.Of(agent)
	s.steps[agent].cancel()
}

// Of returns the context of an agent's step, and begins a step if there is none.
func (s Steps[C]) Of(agent int) C {
	if _, ok := s.steps[agent]; !ok {
		s.Begin(agent)
	}
	return s.steps[agent].ctx
}

// CancelAll cancels all steps.
func (s Steps[C]) CancelAll() {
	for _, step := range s.steps {
		step.cancel()
	}
}
