package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
)

// Connect returns an agent for a model, which it names as massgen --models does: TYPE/MODEL, TYPE or MODEL. The key of
// the model's service is in the environment or in the file .env. Calls that fail for a while are made again, each call
// has its price, and Context has the model's Window and Counter. The caller sets the other fields, and closes the agent.
func Connect(ctx context.Context, model string) (Agent, error) {
	secrets := &configs.Secrets{}
	world := providers.NewWorld(os.LookupEnv)
	world.HideKeys(secrets)
	resolver, err := providers.New(providers.Settings{World: world, Config: configs.Default(), Log: slog.New(slog.DiscardHandler), Secrets: secrets}, nil, nil)
	if err != nil {
		return Agent{}, err
	}
	named := providers.AgentsOf([]string{model})[0]
	m, faults := resolver.Resolve(ctx, named.Backend)
	if len(faults) > 0 {
		if world.Unread != "" {
			faults = append(faults, errors.New(world.Unread))
		}
		return Agent{}, fmt.Errorf("connect to %s: %w", named.ID, errors.Join(append(faults, resolver.Close())...))
	}
	return Agent{
		ID: named.ID, Backend: m.Backend, Model: m.Name, Params: resolver.Bounded(m, named.Backend.Params),
		Context: agents.Context{Window: m.Window, Counter: resolver.Counter(m)}, close: resolver.Close,
	}, nil
}

// Close closes the connections of an agent that Connect returned. For others it does nothing.
func (a Agent) Close() error {
	if a.close == nil {
		return nil
	}
	return a.close()
}
