package compare

import (
	"context"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/models/providers"
)

// limit bounds the output of a panel's calls, so that the price of each is known before it is made.
func limit(config *configs.Config, most float64) {
	usd := budget.Dollars(most)
	if config.Budget.Turn.USD == nil || usd < *config.Budget.Turn.USD {
		config.Budget.Turn.USD = &usd
	}
}

// price returns the highest price of an answer, with the first calls of all agents and so many later ones. If isShared
// is true, another strategy pays for the first calls that are shared. ok is false if a price is not known.
func (r *runner) price(ctx context.Context, u unit, isShared bool, later int) (usd float64, ok bool, err error) {
	if _, err := r.panel(ctx, u); err != nil { // it connects the models
		return 0, false, err
	}
	longest, files := r.plan.longest(question.text), r.plan.dearestFiles()
	message := func(bytes int) backends.Message {
		m := backends.User(words(bytes))
		m.Parts = append(m.Parts, files...)
		return m
	}
	answers := answer * len(u.config.Agents)
	dearest, sum := 0.0, 0.0
	for _, a := range u.config.Agents {
		m, input := r.models[agentOf{u.Digest, a.ID}], longest+len(a.SystemMessage)+prompt
		first, after := mostOf(ctx, m, a.Backend, message(input)), mostOf(ctx, m, a.Backend, message(input+answers))
		if first == nil || after == nil {
			return 0, false, nil
		}
		if !isShared || !r.plan.shares(a.ID) {
			sum += *first
		}
		dearest = max(dearest, *after)
	}
	deciding := u.config.Orchestrator.Deciding
	for id, of := range map[string]configs.Backend{kernel.JudgeID: deciding.Judge.Backend, kernel.VerdictID: deciding.Verdict} {
		m, isThere := r.models[agentOf{u.Digest, id}]
		if !isThere {
			continue
		}
		after := mostOf(ctx, m, of, message(longest+len(deciding.Judge.SystemMessage)+prompt+answers))
		if after == nil {
			return 0, false, nil
		}
		dearest = max(dearest, *after)
	}
	return sum + float64(later)*dearest, true, nil
}

// The bytes of the prompts of a panel in an input, and of one answer in later ones.
const prompt, answer = 6000, 4000

// longest returns the most bytes that a question has by size.
func (p *plan) longest(size func(question) int) (bytes int) {
	for _, q := range p.Questions {
		bytes = max(bytes, size(q))
	}
	return bytes
}

// text returns the bytes of a question with its right answer.
func (q question) text() int { return len(q.Question) + len(q.Expected) }

// attached returns the bytes of a question's files.
func (q question) attached() (bytes int) {
	for _, f := range q.files {
		bytes += len(f.Data)
	}
	return bytes
}

// dearestFiles returns the files of the question that has the most bytes of them, as they are sent.
func (p *plan) dearestFiles() (parts []backends.Part) {
	most := p.longest(question.attached)
	i := slices.IndexFunc(p.Questions, func(q question) bool { return q.attached() == most })
	for _, f := range p.Questions[i].files {
		if f.MediaType == attach.Text {
			parts = append(parts, backends.Text{Text: string(f.Data)})
		} else {
			parts = append(parts, f)
		}
	}
	return parts
}

// words returns a text of so many bytes.
func words(bytes int) string { return strings.Repeat("word ", bytes/5) }

// mostOf returns the highest price of a call with one message; nil if it is not known.
func mostOf(ctx context.Context, m providers.Model, of configs.Backend, message backends.Message) *float64 {
	probe := &probe{}
	req := backends.Request{Model: m.Name, Messages: []backends.Message{message}, Params: of.Params}
	for _, err := range m.Backend.Stream(backends.WithBudget(ctx, probe), req) {
		if err != nil {
			break
		}
	}
	return probe.most
}

// probe is a budget that notes what an attempt would cost, and lets none through.
type probe struct{ most *float64 }

// Reserve implements backends.Budget.
func (p *probe) Reserve(_ context.Context, most, _ backends.Cost) (backends.Reservation, int, error) {
	p.most = most.USD
	return nil, 0, backends.Unpaid(backends.KindBudget, "the call is only reckoned", nil)
}
