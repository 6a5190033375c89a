package inspect

import (
	"context"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// readSolo returns the history behind a link as the model of a panel of one is sent it: with the tools'
// calls and results between a question and its answer.
func readSolo(ctx context.Context, s *sessions.Store, link blob.Ref) ([]contextbuild.Exchange, error) {
	return agents.ShownHistory(ctx, s, &effect.Turn{History: link, Agents: make([]effect.Agent, 1)}, 0)
}

// soloMessages returns the messages of a history.
func soloMessages(history []contextbuild.Exchange) (messages []backends.Message) {
	for _, e := range history {
		messages = append(messages, contextbuild.SoloMessages(e)...)
	}
	return contextbuild.MarkLeftOut(messages)
}
