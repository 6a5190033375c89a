package app_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// schemaBehaviours are of models whose answers have to fit a schema of a city.
func schemaBehaviours() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		// It fits only when it is told that it did not.
		"fits-late": func(c backendtest.Call) backendtest.Reply { return fitting(c, wasRefused(c)) },
		"fits":      func(c backendtest.Call) backendtest.Reply { return fitting(c, true) },
		// It votes for what fits, and presents it as prose.
		"presents-text": func(c backendtest.Call) backendtest.Reply {
			if !slices.Contains(c.ToolNames(), "vote") {
				return backendtest.Reply{Text: "Rome is the city."}
			}
			return fitting(c, true)
		},
		"never-fits": func(c backendtest.Call) backendtest.Reply { return fitting(c, false) },
		"never-fits-json": func(c backendtest.Call) backendtest.Reply {
			return inJSON(c, func(backendtest.Call) backendtest.Reply { return recorded(misfit) })
		},
	}
}

// misfit fits no schema of the scripts.
const misfit = `{"town":"Rome","sights":["Forum",7]}`

// recorded calls new_answer with a content.
func recorded(content string) backendtest.Reply {
	return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: `{"content":` + content + `}`}}}
}

// fitting answers with a city that fits, or one that does not, and votes for the second agent.
func fitting(c backendtest.Call, isFit bool) backendtest.Reply {
	city := fmt.Sprintf(`{ "city":"Rome %d" }`, c.Number)
	if !isFit {
		city = misfit
	}
	switch {
	case !slices.Contains(c.ToolNames(), "vote"):
		return backendtest.Reply{Text: "```json\n" + city + "\n```"}
	case isBlind(c):
		return recorded(city)
	}
	return voteFor("agent2")
}

func wasRefused(c backendtest.Call) bool {
	return slices.ContainsFunc(c.Messages(), func(m backends.Message) bool {
		return strings.Contains(fmt.Sprint(m.Parts), "does not fit the JSON Schema of the answer")
	})
}
