package contextbuild

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The prompts of seed 002.
var (
	//go:embed prompts/topic_rules.txt
	topicRules string
	//go:embed prompts/no_greeting.txt
	noGreeting string
	//go:embed prompts/no_conversation.txt
	noConversation string
	//go:embed prompts/facts.txt
	factsPrompt string
	//go:embed prompts/no_facts.txt
	noFacts string
)

// The number and the length of the last messages beside a topic (seed 002).
const (
	recentMessages = 3
	recentLength   = 200
)

// Topic is the input of TopicSections.
type Topic struct {
	// Text is the topic of the conversation, and Role the role that its session names; both may be
	// empty.
	Text, Role string
	// History holds the turns before this one, oldest first; the last two are used. InHistory
	// reports whether the agents read these turns in their history.
	History   []Exchange
	InHistory bool
	// Greeted is true if the user must not be greeted again.
	Greeted bool
}

// TopicSections returns the sections of the system message that hold a conversation to its
// topic (seed 002, injection via system message): the topic and the role, the last messages if the
// agents do not read them elsewhere, and the rules. Without a topic there is at most the role, and
// the rule not to greet.
func TopicSections(t Topic) (sections []string) {
	var about, rules []string
	if t.Text != "" {
		about, rules = append(about, t.Text), append(rules, topicRules)
	}
	if t.Role != "" {
		about = append(about, "Role: "+oneLine(t.Role))
	}
	if t.Greeted {
		rules = append(rules, noGreeting)
	}
	if len(about) > 0 {
		sections = append(sections, headed("CONTEXT", strings.Join(about, "\n")))
	}
	if t.Text != "" && !(t.InHistory && len(t.History) > 0) {
		sections = append(sections, headed("RECENT CONVERSATION", RecentConversation(t.History)))
	}
	if len(rules) > 0 {
		sections = append(sections, headed("RULES", strings.Join(rules, "\n")))
	}
	return sections
}

// ClientSection returns the section of the system message with the instructions of the turn's
// client, such as a page that offers the panel: seed 002, context via instructions.
func ClientSection(text string) string { return headed("INSTRUCTIONS", text) }

// headed returns a section with its heading. No line of the text looks like another.
func headed(title, text string) string { return "## " + title + "\n" + indentLines(text, isHeading) }

// RecentConversation returns the last three messages of a history, a line each, of
// 200 characters at most and "..." where one was cut.
func RecentConversation(history []Exchange) string {
	var lines []string
	for _, e := range history[max(0, len(history)-recentMessages):] {
		if e.LastTurn == 0 {
			lines = append(lines, userLine+" "+recentText(e.Question))
		}
		lines = append(lines, assistantLine+" "+recentText(e.Answer))
	}
	if len(lines) == 0 {
		return noConversation
	}
	return strings.Join(lines[max(0, len(lines)-recentMessages):], "\n")
}

func recentText(text string) string { return indentSpeakers(cut(Clean(text), recentLength)) }

// FactsSection returns the section with the facts about the user (seed 002, memory
// integration), a line for each fact, oldest first. Of more than 8,000 characters it has the
// newest facts, and the number of the others: each agent reads them in each round.
func FactsSection(facts []string) string {
	if len(facts) == 0 {
		return noFacts
	}
	return factsPrompt + "\n" + factLines(facts)
}

// mostFactText is the most characters of facts in a section.
const mostFactText = 8000

func factLines(facts []string) string {
	var lines []string
	left := mostFactText
	for i, fact := range slices.Backward(facts) {
		line := "- " + oneLine(fact)
		if left -= utf8.RuneCountInString(line) + 1; left < 0 && len(lines) > 0 {
			lines = append(lines, fmt.Sprintf("(%d older facts are left out)", i+1))
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
