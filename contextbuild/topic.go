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
	// Text is the topic of the conversation, empty without one.
	Text string
	// History holds the turns before this one, oldest first; the last two are used.
	History []Exchange
	// Greeted is true if the conversation has had a greeting.
	Greeted bool
}

// TopicSections returns the sections of the system message that hold a conversation to its
// topic (seed 002, injection via system message): the topic, if there is one, the last
// messages, and the rules.
func TopicSections(t Topic) []string {
	rules := topicRules
	if t.Greeted {
		rules += "\n" + noGreeting
	}
	sections := []string{headed("RECENT CONVERSATION", RecentConversation(t.History)), headed("RULES", rules)}
	if t.Text != "" {
		sections = append([]string{headed("CONTEXT", t.Text)}, sections...)
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
