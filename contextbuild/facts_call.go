package contextbuild

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
)

//go:embed prompts/facts_call.txt
var factsCallPrompt string

// mostFacts is the most facts of one turn.
const mostFacts = 10

const rememberTool = "remember"

const rememberSchema = `{"type":"object","properties":{"facts":{"type":"array","items":{"type":"string"},` +
	`"description":"Facts about the user, each a short sentence."}},"required":["facts"],"additionalProperties":false}`

// FactsCall returns the messages and the tool of the call in which a model finds new facts
// about the user in a turn that are worth keeping over conversations (seed 002, memory
// integration). The model gets the first 8,000 characters of each text. Texts need not be
// cleaned before.
func FactsCall(known []string, question, answer string) (messages []backends.Message, tools []backends.Tool) {
	prompt := strings.NewReplacer("{facts}", strconv.Itoa(mostFacts), "{characters}", strconv.Itoa(lineLength)).Replace(factsCallPrompt)
	list := "Nothing."
	if len(known) > 0 {
		list = factLines(known)
	}
	sections := []string{callSection("KNOWN", list), callSection("QUESTION", question), callSection("ANSWER", answer)}
	return []backends.Message{backends.System(prompt), backends.User(joinSections(sections...))}, []backends.Tool{{
		Name: rememberTool, Description: "Keep facts about the user for later conversations.", Schema: json.RawMessage(rememberSchema),
	}}
}

// ReadFactsCall reads the reply to a FactsCall with the same known facts. It returns the new
// facts, at most ten, each one line of at most 200 characters. It omits known facts and
// repetitions, ignoring case and spacing. A message without a tool call has none. An error says
// which rule the message breaks; then nothing should be stored.
func ReadFactsCall(known []string, message backends.Message) ([]string, error) {
	facts, err := readCall("find facts", message, readFacts)
	return newFacts(known, facts), err
}

func readFacts(call backends.ToolCall) ([]string, error) {
	if call.Name != rememberTool {
		return nil, errors.New("there is no such tool")
	}
	args, err := argumentsOf(call, "facts")
	if err != nil {
		return nil, err
	}
	var facts []string
	raw, ok := args["facts"]
	if !ok {
		return nil, errors.New("its facts are missing")
	}
	if err := json.Unmarshal(raw, &facts); err != nil {
		return nil, errors.New("its facts are no list of texts")
	}
	if len(facts) > mostFacts {
		return nil, fmt.Errorf("it has %d facts, more than %d", len(facts), mostFacts)
	}
	for i, fact := range facts {
		if facts[i], err = shortLine(fact); err != nil {
			return nil, fmt.Errorf("its fact %d %w", i+1, err)
		}
		if facts[i] == "" {
			return nil, fmt.Errorf("its fact %d is empty", i+1)
		}
	}
	return facts, nil
}

// newFacts omits facts that are known or repeated.
func newFacts(known, facts []string) []string {
	seen := map[string]bool{}
	for _, fact := range known {
		seen[factKey(fact)] = true
	}
	var added []string
	for _, fact := range facts {
		if key := factKey(fact); !seen[key] {
			seen[key] = true
			added = append(added, fact)
		}
	}
	return added
}

func factKey(fact string) string { return strings.ToLower(oneLine(fact)) }
