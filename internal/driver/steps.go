package driver

// Steps are the contexts of the agents' work, by agent, and of the work that belongs to none,
// which shares one. C is what the runtime has for a context. One goroutine owns them.
type Steps[C any] struct {
	begin func(agent int) (C, func())
	steps map[int]step[C]
}

type step[C any] struct {
	ctx    C
	cancel func()
}

// NewSteps returns steps whose contexts begin makes, with what cancels them.
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

// Of returns the context of an agent's step, which begins if none has.
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
