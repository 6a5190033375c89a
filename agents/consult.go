package agents

import (
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// isJudge reports whether a call gives an opinion about the answers, or writes the answer from its
// own analysis (rule 17). It has no tools of its own and no hosted tools.
func isJudge(call effect.ModelCall) bool {
	return call.Key.Purpose.IsConsultation() || call.Analysis != (blob.Ref{})
}

// consultation returns the messages of a consultation, and keeps the schema of its reply.
func (b *inputBuilder) consultation(in contextbuild.Input, call effect.ModelCall) []backends.Message {
	in.Notes, in.Answers = b.notes(call.Notes), b.answers(b.inOrder(call))
	var built contextbuild.Messages
	switch call.Key.Purpose {
	case effect.Verdict:
		built, b.opinion = contextbuild.Verdict(in)
	case effect.Review:
		built, b.opinion = contextbuild.ReviewCall(in)
	case effect.TieBreak:
		built, b.opinion = contextbuild.Tie(in)
	default:
		judge := b.turn.Agent(b.reader)
		built, b.opinion = contextbuild.Judge(in, mostOfAnalysis(judge.Bounded, decoded[backends.Params](&b.textStore, judge.Params)))
	}
	return []backends.Message{backends.System(built.System), backends.User(built.User)}
}

// mostOfAnalysis returns how many tokens the analysis of a small model may have, 0 for a model without limits.
func mostOfAnalysis(isBounded bool, params backends.Params) int {
	if !isBounded {
		return 0
	}
	if most := bounded(params).MaxTokens; most != nil {
		return *most
	}
	return boundedReply
}

// synthesis returns the messages with which a judge writes the answer. They begin with those of its
// judgement.
func (b *inputBuilder) synthesis(in contextbuild.Input, call effect.ModelCall) []backends.Message {
	schema := ""
	if answers := schemaOf(&b.textStore, b.turn.Schema); answers != nil {
		schema = answers.String()
	}
	return contextbuild.SynthesisCall(b.withFiles(b.consultation(in, call)), b.text(call.Analysis), schema)
}

// readOpinion reads the reply to a consultation.
func (r *replyReader) readOpinion(said string, reply *effect.ModelReply) {
	if r.call.Key.Purpose == effect.Verdict {
		same, problem := contextbuild.ReadVerdict(said)
		if reply.Problem = problem; problem == "" {
			reply.Opinion = &effect.Opinion{Same: same}
		}
		return
	}
	if r.call.Key.Purpose == effect.Review {
		review, problem := contextbuild.ReadReview(said)
		if reply.Problem = problem; problem == "" {
			reply.Opinion = &effect.Opinion{Same: review.Submits(), Analysis: r.encode(review)}
		}
		return
	}
	shown := map[string]blob.Ref{}
	for _, a := range r.call.Offer.Shown {
		shown[r.shared.anonymous(a.Agent)] = a.Text
	}
	judged := contextbuild.Judged{
		Name: func(name string) string {
			name = r.shared.anonymous(r.shared.index(name))
			if _, isShown := shown[name]; !isShown {
				return ""
			}
			return name
		},
		Text: func(name string) string { return r.text(shown[name]) },
	}
	analysis, problem := judged.ReadAnalysis(said)
	if reply.Problem = problem; problem == "" {
		reply.Opinion = &effect.Opinion{Best: r.shared.index(analysis.Best)}
		if r.call.Key.Purpose != effect.TieBreak {
			reply.Opinion.Analysis = r.encode(analysis)
		}
	}
}
