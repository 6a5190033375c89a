package step

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// judgeActs judges the coordination tools that a message calls. It returns the act that ends
// the step, or else a notice for each of them, by the call's position, that says what to do.
func (s *Machine) judgeActs(calls []effect.Call) (*Outcome, map[int]*effect.Notice) {
	if s.isConversation() {
		return nil, nil
	}
	var acts []int
	for i, c := range calls {
		if c.IsAct() {
			acts = append(acts, i)
		}
	}
	refused := map[int]*effect.Notice{}
	if len(acts) == 1 {
		i := acts[0]
		act, notice := s.judge(calls[i])
		if notice == nil {
			return act, refused
		}
		refused[i] = notice
		return nil, refused
	}
	for _, i := range acts {
		refused[i] = &effect.Notice{Code: effect.SeveralActs}
	}
	return nil, refused
}

// refuseCut refuses the act of a message that its provider cut, as long as another attempt is left:
// what looks whole may be half. Without another attempt the act counts. It returns the act that is
// left.
func (s *Machine) refuseCut(r effect.ModelReply, act *Outcome, refused map[int]*effect.Notice) *Outcome {
	if s.isConversation() || s.s.Attempts+1 >= s.s.Task.Limits.MaxAttempts || s.isLastCall() {
		return act
	}
	for i, c := range r.Calls {
		if c.IsAct() && (act != nil || c.Problem != "" && refused[i] != nil && refused[i].Code == effect.BadArguments) {
			refused[i] = &effect.Notice{Code: effect.CutOff, Detail: r.Finish}
			act = nil
		}
	}
	return act
}

func (s *Machine) judge(c effect.Call) (*Outcome, *effect.Notice) {
	if c.Name == effect.NewAnswer {
		return s.judgeAnswer(c)
	}
	return s.judgeVote(c)
}

// judgeAnswer is rules 6 and 7: an empty content is no answer, and an answer is
// compared only with those that its author was shown.
func (s *Machine) judgeAnswer(c effect.Call) (*Outcome, *effect.Notice) {
	if !s.s.Offer.MayAnswer {
		return nil, &effect.Notice{Code: effect.AnswerWithdrawn}
	}
	if c.Problem != "" {
		return nil, &effect.Notice{Code: effect.BadArguments, Detail: c.Problem}
	}
	if c.Answer == (blob.Ref{}) {
		return nil, &effect.Notice{Code: effect.EmptyAnswer}
	}
	for _, shown := range s.s.Offer.Shown {
		if shown.Hash == c.Hash {
			return nil, s.copyNotice(effect.Duplicate, shown.Agent)
		}
	}
	for i, shown := range s.s.Offer.Shown {
		if limit := s.s.Task.Limits.MaxOverlap; limit > 0 && i < len(c.Overlaps) && c.Overlaps[i] > limit {
			return nil, s.copyNotice(effect.TooSimilar, shown.Agent)
		}
	}
	return &Outcome{Kind: Answered, Answer: c.Answer, Hash: c.Hash, Value: c.Value}, nil
}

func (s *Machine) copyNotice(code effect.Code, of int) *effect.Notice {
	return &effect.Notice{Code: code, Agent: of, Votable: slices.Contains(s.s.Offer.MayVote, of)}
}

// others returns the further agents of a vote, without those that it may not name and those that it
// has named.
func (s *Machine) others(c effect.Call) []int {
	var list []int
	for _, agent := range c.Others {
		if slices.Contains(s.s.Offer.MayVote, agent) && agent != c.Target && !slices.Contains(list, agent) {
			list = append(list, agent)
		}
	}
	return list
}

// judgeVote is DESIGN §5: an impossible vote gets a tool error.
func (s *Machine) judgeVote(c effect.Call) (*Outcome, *effect.Notice) {
	if len(s.s.Offer.Shown) == 0 {
		return nil, &effect.Notice{Code: effect.NoAnswersYet}
	}
	if len(s.s.Offer.MayVote) == 0 {
		return nil, &effect.Notice{Code: effect.NothingToVote}
	}
	if c.Problem != "" {
		return nil, &effect.Notice{Code: effect.BadArguments, Detail: c.Problem}
	}
	if c.Target < 0 {
		return nil, &effect.Notice{Code: effect.UnknownAgent}
	}
	shown := func(a kernel.Answer) bool { return a.Agent == c.Target }
	if !slices.ContainsFunc(s.s.Offer.Shown, shown) {
		return nil, &effect.Notice{Code: effect.NoAnswerOf, Agent: c.Target}
	}
	if !slices.Contains(s.s.Offer.MayVote, c.Target) {
		return nil, &effect.Notice{Code: effect.NoSelfVote, Agent: c.Target}
	}
	return &Outcome{Kind: Voted, For: c.Target, Others: s.others(c), Reason: c.Reason}, nil
}
