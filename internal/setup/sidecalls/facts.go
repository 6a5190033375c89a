package sidecalls

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// askFacts returns the call for the facts about its user that a turn contains.
func (k *Keeper) askFacts(ctx context.Context, t coordinator.SidecallTurn) ([]backends.Message, []backends.Tool, error) {
	known, err := k.facts(ctx, t.Session)
	if err != nil {
		return nil, nil, err
	}
	messages, tools := contextbuild.FactsCall(known, t.Question, t.Answer)
	return messages, tools, nil
}

// facts returns the facts about the user of a session.
func (k *Keeper) facts(ctx context.Context, id string) ([]string, error) {
	facts, err := k.Store.Facts(ctx, sessions.ParseID(id)[sessions.MetaUser])
	known := make([]string, len(facts))
	for i, f := range facts {
		known[i] = f.Text
	}
	return known, err
}

// factsSections returns the section with the facts about the user of a session. Without facts it says so where
// the config finds facts (memory), and is nil elsewhere.
func (k *Keeper) factsSections(ctx context.Context, id string) ([]string, error) {
	known, err := k.facts(ctx, id)
	if err != nil || len(known) == 0 && !k.settings.Config.Memory.Made {
		return nil, err
	}
	return []string{contextbuild.FactsSection(known)}, nil
}

func (k *Keeper) readFacts(ctx context.Context, t coordinator.SidecallTurn, reply backends.Message) (coordinator.SidecallReply, error) {
	known, err := k.facts(ctx, t.Session)
	if err != nil {
		return coordinator.SidecallReply{}, err
	}
	found, err := contextbuild.ReadFactsCall(known, reply)
	if err != nil || len(found) == 0 {
		return coordinator.SidecallReply{}, err
	}
	kept, err := json.Marshal(found)
	return coordinator.SidecallReply{Kept: kept}, err
}

// storeFacts stores the found facts.
func (k *Keeper) storeFacts(ctx context.Context, id string, found []string) error {
	for _, text := range found {
		if err := k.Remember(ctx, id, text); err != nil {
			return fmt.Errorf("remember: %w", err)
		}
	}
	return nil
}

// Remember stores a fact about the user of a session, for all of the user's sessions.
func (k *Keeper) Remember(ctx context.Context, id, text string) error {
	_, err := k.Store.AddFact(ctx, sessions.ParseID(id)[sessions.MetaUser], text)
	return err
}

func (k *Keeper) showFacts(_ string, found []string) {
	if k.Remembered != nil {
		k.Remembered(found)
	}
}
