package contextbuild

import (
	"fmt"
	"maps"
	"slices"

	"github.com/massgen/massgen/internal/system/plain"
)

// Anonymous returns the name under which models see each participant: the
// config ids, sorted with their digits by value (agent2 before agent10), are
// agent1 to agentN. The order in which they are given does not matter. (DESIGN §5)
func Anonymous(participants []string) map[string]string {
	if len(participants) == 1 {
		return map[string]string{participants[0]: "agent1"}
	}
	byKey := make(map[string]string, len(participants))
	for _, id := range participants {
		byKey[plain.SortKey(id)] = id
	}
	names := make(map[string]string, len(byKey))
	for i, key := range slices.Sorted(maps.Keys(byKey)) {
		names[byKey[key]] = fmt.Sprintf("agent%d", i+1)
	}
	return names
}

// Participants maps the names of Anonymous to the ids of a panel's agents. It is nil for a
// panel of one, whose agent has no other name.
func Participants(ids []string) map[string]string {
	if len(ids) < 2 {
		return nil
	}
	names, byName := Anonymous(ids), map[string]string{}
	for _, id := range ids {
		byName[names[id]] = id
	}
	return byName
}

// panel has the participants of a turn by their names to models.
type panel struct{ names map[string]string }

func newPanel(participants []string) panel { return panel{Anonymous(participants)} }

func (p panel) name(id string) string {
	name, ok := p.names[id]
	if !ok {
		panic(fmt.Sprintf("contextbuild: %q is not a participant", id))
	}
	return name
}

// tagged returns text, already escaped, between the tags of an agent.
func (p panel) tagged(id, text string) string {
	name := p.name(id)
	return "<" + name + "> " + text + " <end of " + name + ">"
}
