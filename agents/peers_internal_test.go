package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// TestPeersKeepInputsSmall: with answers of 4,000 characters a ring of four sends under 10 % of the bytes
// that all answers take for 100 agents, and under 1.5 % for 1,000.
func TestPeersKeepInputsSmall(t *testing.T) {
	t.Parallel()
	for n, most := range map[int]float64{100: 0.10, 1000: 0.015} {
		ring := bytesOfTurn(t, n, kernel.Peers{Ring: 4})
		all := bytesOfTurn(t, n, kernel.Peers{})
		share := float64(ring) / float64(all)
		t.Logf("%d agents: %d of %d bytes, %.2f %%", n, ring, all, 100*share)
		if share >= most {
			t.Errorf("%d agents send %.2f %% of the bytes", n, 100*share)
		}
	}
}

// bytesOfTurn returns the bytes of all inputs of a turn of two rounds. Agents that see the same have
// inputs of one size.
func bytesOfTurn(t *testing.T, n int, peers kernel.Peers) (sum int) {
	store := sessions.NewMemory()
	put := func(text string) blob.Ref {
		ref, err := store.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	turn := effect.Turn{Session: "s", Turn: 1, Question: put("How many?"), Limits: effect.DefaultLimits()}
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint("agent", i+1))
		turn.Agents = append(turn.Agents, effect.Agent{ID: ids[i], Model: "m"})
	}
	cfg := kernel.Defaults(ids...)
	cfg.Decider, cfg.Peers = kernel.Blind, peers
	m, err := kernel.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(ev kernel.Event) []kernel.Command {
		commands, err := m.Apply(ev)
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	shared := newShared(&turn, store)
	size := func(start kernel.Start) int {
		call := effect.ModelCall{Key: effect.Key{Agent: start.Agent, Round: start.Round, Purpose: effect.Coordination}, Offer: start.Offer}
		b := newInputBuilder(t.Context(), shared, &turn, call)
		req, err := b.build(call)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, message := range req.Messages {
			bytes += len(message.Text())
		}
		tools, err := json.Marshal(req.Tools)
		if err != nil {
			t.Fatal(err)
		}
		return bytes + len(tools)
	}
	commands := apply(kernel.Opened{At: 1})
	for round := 1; round <= 2; round++ {
		var starts []kernel.Start
		for _, c := range commands {
			if start, ok := c.(kernel.Start); ok {
				starts = append(starts, start)
			}
		}
		if len(starts) != n {
			t.Fatalf("round %d has %d agents", round, len(starts))
		}
		if peers == (kernel.Peers{}) {
			sum += n * size(starts[0])
		} else {
			for _, start := range starts {
				sum += size(start)
			}
		}
		for _, start := range starts {
			if round == 2 {
				continue
			}
			text := fmt.Sprintf("%4d", start.Agent) + strings.Repeat(".", 3996)
			commands = apply(kernel.Answered{At: 2, Agent: start.Agent, Seen: 0, Answer: put(text), Hash: text[:4]})
		}
	}
	return sum
}
