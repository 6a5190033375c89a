package debugbackend

import (
	_ "embed"
	"fmt"
)

//go:embed demo.yaml
var demoScript []byte

// Demo returns the offline demo model: canned answers that say so, for any
// question, any number of agents and any number of turns. All answer; the agent
// whose answer stands last then changes its mind and records a better one, for
// which all vote.
func Demo() *Scripted {
	script, err := ParseScript(demoScript)
	if err != nil {
		// The script is part of the program, and a test parses it.
		panic(fmt.Sprintf("demo.yaml: %v", err))
	}
	return NewScripted(script)
}
