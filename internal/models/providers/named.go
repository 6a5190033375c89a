package providers

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/massgen/massgen/configs"
)

// AgentsOf returns an agent for each model of a list, which names them as TYPE/MODEL, TYPE or
// MODEL. Its id is the model's name, with a number if others have it too.
func AgentsOf(models []string) []configs.Agent {
	types, taken := backendTypes(), map[string]bool{}
	agents := make([]configs.Agent, len(models))
	for i, name := range models {
		b := configs.Backend{Model: strings.TrimSpace(name)}
		if typ, model, _ := strings.Cut(b.Model, "/"); slices.Contains(types, typ) {
			b.Type, b.Model = typ, model
		}
		base := idOf(cmp.Or(b.Model, b.Type))
		id := base
		for n := 2; taken[id] || configs.CheckID(id) != nil; n++ {
			id = fmt.Sprintf("%s-%d", base, n)
			if configs.CheckID(base) != nil {
				id = fmt.Sprintf("agent%d", i+n-1)
			}
		}
		taken[id] = true
		agents[i] = configs.Agent{ID: id, Backend: b}
	}
	return agents
}

// mostID leaves room for a number behind an id.
const mostID = 50

// idOf makes an id of a model's name.
func idOf(name string) string {
	id := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-.", c) {
			return c
		}
		return '-'
	}, path.Base(name))
	if runes := []rune(id); len(runes) > mostID {
		id = string(runes[:mostID])
	}
	return strings.Trim(id, ".-")
}
