package agents

import (
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
)

// coordinationTools returns new_answer and vote, in this order and with the same
// bytes for every agent and round of a panel of n (DESIGN §5, seed 003). Only a
// limit takes new_answer away.
func coordinationTools(n int, mayAnswer bool) []backends.Tool {
	vote := backends.Tool{
		Name:        machine.Vote,
		Description: "Vote for the best of the CURRENT ANSWERS, if it addresses the ORIGINAL MESSAGE.",
		Schema:      voteSchema(n),
	}
	if !mayAnswer {
		return []backends.Tool{vote}
	}
	return []backends.Tool{{
		Name:        machine.NewAnswer,
		Description: "Record a new and better answer to the ORIGINAL MESSAGE.",
		Schema:      json.RawMessage(newAnswerSchema),
	}, vote}
}

const newAnswerSchema = `{"type":"object","properties":{"content":{"type":"string",` +
	`"description":"The whole answer, as it is to be read."}},"required":["content"],"additionalProperties":false}`

func voteSchema(n int) json.RawMessage {
	names := ""
	for i := 1; i <= n; i++ {
		if i > 1 {
			names += ","
		}
		names += fmt.Sprintf("%q", anonymousName(i))
	}
	return json.RawMessage(`{"type":"object","properties":{"agent_id":{"type":"string","enum":[` + names +
		`],"description":"The agent whose answer is the best."},"reason":{"type":"string",` +
		`"description":"Why, in a sentence."}},"required":["agent_id","reason"],"additionalProperties":false}`)
}

func anonymousName(i int) string { return fmt.Sprintf("agent%d", i) }

// noticeText is a tool error for the model: what was wrong, and what to do.
func (p panelNames) noticeText(n machine.Notice) string {
	who := p.anonymous(n.Agent)
	switch n.Code {
	case machine.BadArguments:
		return fmt.Sprintf("Error: %s. Call the tool again with arguments that fit its schema.", n.Detail)
	case machine.EmptyAnswer:
		return "Error: content is empty, which is no answer. Call new_answer again with the whole answer as content."
	case machine.AnswerTaken:
		return "Error: new answers are not taken any more. Use the vote tool for the best of the CURRENT ANSWERS."
	case machine.Duplicate:
		return fmt.Sprintf("Error: this is the same text as the answer of %s. Vote for %s if that answer is good, or call new_answer with a better one.", who, who)
	case machine.TooSimilar:
		return fmt.Sprintf("Error: this is almost the same as the answer of %s. Vote for %s if that answer is good, or call new_answer with one that differs in substance.", who, who)
	case machine.UnknownAgent:
		return fmt.Sprintf("Error: there is no such agent. agent_id is one of %s.", p.list())
	case machine.NoAnswersYet:
		return "Error: nobody has answered yet, so there is nothing to vote for. Use the new_answer tool to record your answer."
	case machine.NothingToVote:
		return "Error: the only answer so far is your own, and a vote for oneself is not allowed here. Use the new_answer tool, or improve on your answer."
	case machine.NoAnswerOf:
		return fmt.Sprintf("Error: %s has no answer to vote for. Vote for an agent that stands under CURRENT ANSWERS.", who)
	case machine.NoSelfVote:
		return fmt.Sprintf("Error: %s is you, and a vote for oneself is not allowed here. Vote for another agent's answer, or record a better one.", who)
	case machine.SeveralActs:
		return "Error: a message may vote once or give one new answer, not more; none of these calls was counted. Call exactly one of the two tools, once."
	case machine.ToolsTaken:
		return fmt.Sprintf("Error: there is no tool %q on offer now. Use one of the tools that are.", n.Detail)
	}
	return "Error: " + string(n.Code)
}
