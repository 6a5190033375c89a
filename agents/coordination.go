package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/tools/schema"
)

// coordinationTools returns new_answer and vote, in this order and with the same
// bytes for every agent and round (DESIGN §5, seed 003). Only a limit takes new_answer
// away.
func (s *shared) coordinationTools(mayAnswer bool, answers *schema.Schema) []backends.Tool {
	vote := backends.Tool{
		Name:        effect.Vote,
		Description: "Vote for the best of the CURRENT ANSWERS, if it addresses the ORIGINAL MESSAGE.",
		Schema:      s.voteSchema(),
	}
	if !mayAnswer {
		return []backends.Tool{vote}
	}
	return []backends.Tool{{
		Name:        effect.NewAnswer,
		Description: "Record a new and better answer to the ORIGINAL MESSAGE.",
		Schema:      newAnswerSchema(answers),
	}, vote}
}

// newAnswerSchema returns the schema of new_answer's arguments. The content is a text, as in seed
// 003, or has the given schema of answers.
func newAnswerSchema(answers *schema.Schema) json.RawMessage {
	content := `{"type":"string","description":"The whole answer, as it is to be read."}`
	if answers != nil {
		content = answers.Nested()
	}
	return answers.Within(json.RawMessage(`{"type":"object","properties":{"content":` + content +
		`},"required":["content"],"additionalProperties":false}`))
}

func (s *shared) voteSchema() json.RawMessage {
	names := strings.ReplaceAll(s.list(), ", ", `","`)
	return json.RawMessage(`{"type":"object","properties":{"agent_id":{"type":"string","enum":["` + names +
		`"],"description":"The agent whose answer is the best."},"reason":{"type":"string",` +
		`"description":"Why, in a sentence."}` + s.othersSchema(names) + `},"required":["agent_id","reason"],"additionalProperties":false}`)
}

// othersSchema returns the further argument of vote under rules that count more than one name, else
// "".
func (s *shared) othersSchema(names string) string {
	const list = `,"others":{"type":"array","items":{"type":"string","enum":["%s"]},"description":"%s"}`
	switch s.rule {
	case election.Approval:
		return fmt.Sprintf(list, names, "The agents of the other answers that are good, too.")
	case election.Ranked:
		return fmt.Sprintf(list, names, "The agents of the other answers, the best first.")
	}
	return ""
}

// noticeText returns the tool error of a notice: what was wrong, and what to do.
func (b *inputBuilder) noticeText(n effect.Notice) string {
	who := b.shared.anonymous(n.Agent)
	switch n.Code {
	case effect.BadArguments:
		return fmt.Sprintf("Error: %s. Call the tool again with arguments that fit its schema.", n.Detail)
	case effect.BadAnswer:
		return fmt.Sprintf("Error: this reply is no answer: %s. Reply again with the whole answer, as one JSON object that fits the schema and nothing else.", n.Detail)
	case effect.BadOpinion:
		return contextbuild.BadOpinion(n.Detail)
	case effect.CallInText:
		return "Error: this reply has a tool call in its text, which was not run. Call a tool that is on offer, with nothing beside the call, or reply with your whole answer and no call in it."
	case effect.FailedCheck:
		c := decoded[Checked](&b.textStore, n.Output)
		return contextbuild.FailedCheck(b.coordinates, c.Exit, c.Output)
	case effect.EmptyAnswer:
		return "Error: content is empty, which is no answer. Call new_answer again with the whole answer as content."
	case effect.CutOff:
		return fmt.Sprintf("Error: your message was cut before its end (%s), so this call was not counted. Call the tool again, with a shorter text if this one was long.", n.Detail)
	case effect.AnswerWithdrawn:
		return "Error: new answers are not taken any more. Use the vote tool for the best of the CURRENT ANSWERS."
	case effect.Duplicate:
		return "Error: this is the same text as " + b.copied(n, "a better one")
	case effect.TooSimilar:
		return "Error: this is almost the same as " + b.copied(n, "one that differs in substance")
	case effect.UnknownAgent:
		return fmt.Sprintf("Error: there is no such agent. Vote again with an agent_id that stands under CURRENT ANSWERS; the agents are %s.", b.shared.list())
	case effect.NoAnswersYet:
		return "Error: you were shown no CURRENT ANSWERS, so there is nothing to vote for. Use the new_answer tool to record your answer."
	case effect.NothingToVote:
		return "Error: the only one of the CURRENT ANSWERS is your own, and a vote for oneself is not allowed here. Use the new_answer tool to record a better answer."
	case effect.NoAnswerOf:
		return fmt.Sprintf("Error: you were shown no answer of %s. Vote for an agent that stands under CURRENT ANSWERS.", who)
	case effect.NoSelfVote:
		return fmt.Sprintf("Error: %s is you, and a vote for oneself is not allowed here. Vote for the best of the other CURRENT ANSWERS.", who)
	case effect.SeveralActs:
		return "Error: a message may call one coordination tool, once. This one had several such calls, so none was counted. Call one, once."
	case effect.ToolsWithdrawn:
		return b.noToolText(n.Detail)
	case effect.NotPermitted:
		return notPermittedText(n.Detail)
	case effect.TooManyCalls:
		return b.tooManyText(n.Detail)
	}
	return "Error: this call was refused (" + string(n.Code) + "). Call another tool."
}

// copied ends the text about an answer that stands already. For an agent's own answer it says
// that it is its own: the agent does not know its own name.
func (b *inputBuilder) copied(n effect.Notice, better string) string {
	who := b.shared.anonymous(n.Agent)
	whose := "the answer of " + who
	if n.Agent == b.reader {
		whose = "your own answer, that of " + who
	}
	if !n.Votable {
		return fmt.Sprintf("%s. Call new_answer with %s.", whose, better)
	}
	return fmt.Sprintf("%s. Vote for %s if that answer is good, or call new_answer with %s.", whose, who, better)
}

// notPermittedText returns the result of a call that a rule, or a person, denies.
func notPermittedText(why string) string {
	if why != "" {
		why = " (" + why + ")"
	}
	return "Error: this call is not permitted" + why + ", and was not run. Go on without it, or in another way."
}

// tooManyText begins with the words of seed 004.
func (b *inputBuilder) tooManyText(limit string) string {
	text := fmt.Sprintf("Error: Exceeded maximum tool calls (%s). This call was not run, and no further one will be. ", limit)
	if b.coordinates {
		return text + "Use new_answer or vote now, with what you have."
	}
	return text + "Reply with your answer now, with what you have."
}

func (b *inputBuilder) noToolText(name string) string {
	if b.coordinates {
		return fmt.Sprintf("Error: there is no tool %q on offer now. Use one of the tools that are.", name)
	}
	return fmt.Sprintf("Error: there is no tool %q on offer now. Use one that is, if there is any, or reply with your answer.", name)
}
