package contextbuild

import (
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// StepPart is the oldest part of an agent's step: the question, the summary of the part before
// Messages, "" if there is none, and Messages.
type StepPart struct {
	Task, Earlier string
	Messages      []backends.Message
}

// StepSummaryCall returns the messages of the call that requests a summary of a part of a step
// in at most words words. It cuts texts that do not fit in room bytes, 0 for no limit.
func StepSummaryCall(part StepPart, words, room int) []backends.Message {
	prompt := strings.ReplaceAll(stepSummaryPrompt, "{words}", strconv.Itoa(words))
	question := part.question(wholeTexts)
	for most := longestText(part); room > 0 && len(prompt)+len(question) > room && most > 1; {
		most /= 2
		question = part.question(most)
	}
	return []backends.Message{backends.System(prompt), backends.User(question)}
}

// wholeTexts cuts no text.
const wholeTexts = 0

// question returns a part of a step as text, with each of its texts cut at most bytes.
func (p StepPart) question(most int) string {
	sections := []string{}
	add := func(what, text string) {
		if text != "" {
			sections = append(sections, what+":\n"+shortened(Clean(text), most))
		}
	}
	add("The task", p.Task)
	add("Summary of what came before", p.Earlier)
	for _, m := range p.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case backends.Text:
				add(speaker(m.Role), part.Text)
			case backends.ToolCall:
				add("The agent calls "+part.Name, part.Arguments)
			case backends.ToolResult:
				add(resultOf(part), part.Content)
			}
		}
	}
	return joinSections(append(sections, stepSummaryQuestion)...)
}

// speaker names a role for a summarizer.
func speaker(r backends.Role) string {
	if r == backends.RoleAssistant {
		return "The agent says"
	}
	return "The agent is told"
}

// shortened cuts a text that is longer than most bytes.
func shortened(text string, most int) string {
	if most == wholeTexts {
		return text
	}
	return plain.CutBytes(text, most)
}

func resultOf(part backends.ToolResult) string {
	if part.IsError {
		return "Error of " + part.Name
	}
	return "Result of " + part.Name
}

// longestText is the length of a part's longest text in bytes.
func longestText(p StepPart) int {
	longest := max(len(p.Task), len(p.Earlier))
	for _, m := range p.Messages {
		longest = max(longest, textBytes(m))
	}
	return longest
}
