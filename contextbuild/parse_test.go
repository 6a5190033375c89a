package contextbuild

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// This file takes built messages apart again, with means of its own: what it
// knows of delimiters and escapes is written here a second time, as regular
// expressions, so that it can judge the builder.

// parsed is what parse takes out of two messages. Agents have the names that
// models see.
type parsed struct {
	SystemMessage string
	History       []Exchange
	Question      string
	Notes         []string
	Answers       []Answer
	Sections      []string
	Votes         []Vote
}

// anySpace allows white space between all characters of name.
func anySpace(name string) string {
	const space = `[\s\x0B\x{85}\p{Z}]*`
	var pattern strings.Builder
	pattern.WriteString(space)
	for _, r := range strings.ReplaceAll(name, " ", "") {
		pattern.WriteString(regexp.QuoteMeta(string(r)) + space)
	}
	return pattern.String()
}

// delimiterPattern matches what follows the "<" of any delimiter, however it is
// spelt.
func delimiterPattern() string {
	var names []string
	for _, name := range []string{
		"CONVERSATION_HISTORY", "END OF CONVERSATION_HISTORY", "ORIGINAL MESSAGE", "END OF ORIGINAL MESSAGE",
		"CURRENT ANSWERS from the agents", "END OF CURRENT ANSWERS", "VOTES of the agents", "END OF VOTES",
		"NOTE from the user", "END OF NOTE",
	} {
		names = append(names, anySpace(name))
	}
	number := `(?:\p{Nd}` + anySpace("") + `)+`
	names = append(names, anySpace("agent")+number, anySpace("end of agent")+number)
	return `(?i:` + strings.Join(names, "|") + `)>`
}

var (
	anyDelimiter   = regexp.MustCompile(`<` + delimiterPattern())
	delimiterLike  = regexp.MustCompile(`(?:<|&(?:amp;)*lt;)` + delimiterPattern())
	escapedMark    = regexp.MustCompile(`&(?:amp;)*lt;` + delimiterPattern())
	indentedLine   = regexp.MustCompile(`(^|[\n\r\x{2028}\x{2029}]) ([\t\p{Zs}]*(?:User|Assistant):)`)
	unindentedLine = regexp.MustCompile(`(?:^|[\n\r\x{2028}\x{2029}])(?:User|Assistant):`)
	spaceLine      = regexp.MustCompile(`(?m)^( *) $`)
	indentedHead   = regexp.MustCompile(`^ ( *Summary of turns )`)
	summaryHead    = regexp.MustCompile(`^Summary of turns (\d+) to (\d+): `)
)

func unescape(text string) string {
	return escapedMark.ReplaceAllStringFunc(text, func(mark string) string {
		if rest, ok := strings.CutPrefix(mark, "&lt;"); ok {
			return "<" + rest
		}
		return "&" + strings.TrimPrefix(mark, "&amp;")
	})
}

func unescapeHistory(text string) string {
	return unescape(indentedLine.ReplaceAllString(text, "$1$2"))
}

func unescapeSection(text string) string {
	return unescape(spaceLine.ReplaceAllString(text, "$1"))
}

// parse takes apart what Build or Present made with the prompt. The agent's own
// message is not escaped, so it must not contain the prompt.
func parse(m Messages, prompt string) (parsed, error) {
	var p parsed
	u := reader{rest: m.User}
	p.History = u.history()
	u.expect("<ORIGINAL MESSAGE> ")
	p.Question = unescape(u.until(" <END OF ORIGINAL MESSAGE>\n\n"))
	p.Notes = u.notes()
	u.expect("<CURRENT ANSWERS from the agents>\n")
	p.Answers = u.answers()
	u.expect("<END OF CURRENT ANSWERS>")
	p.Votes = u.votes()
	u.expectEnd()

	s := reader{rest: m.System}
	if own := s.until(prompt); own != "" {
		p.SystemMessage = strings.TrimSuffix(own, "\n\n")
		if p.SystemMessage == own {
			return p, errors.New("no blank line after the agent's own system message")
		}
	}
	noted := s.accept("\n            \nIMPORTANT: You are responding to the latest message in an ongoing conversation. " +
		"Consider the full conversation context when evaluating answers and providing your response.")
	if noted != (len(p.History) > 0) {
		return p, fmt.Errorf("context note present: %v, exchanges in the history: %d", noted, len(p.History))
	}
	if s.accept("\n\n") {
		for section := range strings.SplitSeq(s.rest, "\n\n") {
			p.Sections = append(p.Sections, unescapeSection(section))
		}
		s.rest = ""
	}
	s.expectEnd()
	return p, errors.Join(u.err, s.err)
}

// reader consumes a message from its beginning and keeps its first error.
type reader struct {
	rest string
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = ""
}

func (r *reader) accept(text string) bool {
	rest, ok := strings.CutPrefix(r.rest, text)
	r.rest = rest
	return ok
}

func (r *reader) expect(text string) {
	if !r.accept(text) {
		r.fail("want %q before %.80q", text, r.rest)
	}
}

func (r *reader) expectEnd() {
	if r.rest != "" {
		r.fail("want the end before %.80q", r.rest)
	}
}

// until returns what stands before mark, and consumes both.
func (r *reader) until(mark string) string {
	before, rest, ok := strings.Cut(r.rest, mark)
	if !ok {
		r.fail("no %q in %.80q", mark, r.rest)
		return ""
	}
	r.rest = rest
	return before
}

// untilLine returns what stands before the first line break that one of the
// marks follows, and consumes it with the break.
func (r *reader) untilLine(marks ...string) string {
	end := -1
	for _, mark := range marks {
		if i := strings.Index(r.rest, "\n"+mark); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if end < 0 {
		r.fail("no line with one of %q in %.80q", marks, r.rest)
		return ""
	}
	before := r.rest[:end]
	r.rest = r.rest[end+1:]
	return before
}

func (r *reader) history() []Exchange {
	var history []Exchange
	if !r.accept("<CONVERSATION_HISTORY>\n") {
		return nil
	}
	for r.err == nil && !r.accept("<END OF CONVERSATION_HISTORY>\n\n") {
		var e Exchange
		asked := r.accept("User: ")
		if asked {
			e.Question = unescapeHistory(r.untilLine("Assistant: "))
		}
		r.expect("Assistant: ")
		answer := r.untilLine("User: ", "Assistant: ", "<END OF CONVERSATION_HISTORY>")
		switch head := summaryHead.FindString(answer); {
		case asked:
		case head == "":
			e.QuestionLeftOut, answer = true, indentedHead.ReplaceAllString(answer, "$1")
		default:
			if _, err := fmt.Sscanf(head, "Summary of turns %d to %d: ", &e.FirstTurn, &e.LastTurn); err != nil {
				r.fail("head of a summary: %w", err)
			}
			answer = answer[len(head):]
		}
		e.Answer = unescapeHistory(answer)
		history = append(history, e)
	}
	return history
}

func (r *reader) notes() []string {
	var notes []string
	for more := strings.HasPrefix(r.rest, "<NOTE "); more && r.err == nil; {
		r.expect("<NOTE from the user> ")
		notes = append(notes, unescape(r.until(" <END OF NOTE>\n")))
		more = !r.accept("\n")
	}
	return notes
}

func (r *reader) answers() []Answer {
	if r.accept("(no answers available yet)\n") {
		return nil
	}
	var answers []Answer
	for r.err == nil && strings.HasPrefix(r.rest, "<agent") {
		agent, content := r.tagged()
		answers = append(answers, Answer{Agent: agent, Content: unescape(content)})
	}
	return answers
}

func (r *reader) votes() []Vote {
	if !r.accept("\n\n<VOTES of the agents>\n") {
		return nil
	}
	var votes []Vote
	if !r.accept("(no votes)\n") {
		for r.err == nil && strings.HasPrefix(r.rest, "<agent") {
			voter, content := r.tagged()
			choice, reason, _ := strings.Cut(strings.TrimPrefix(content, "for "), ": ")
			votes = append(votes, Vote{voter, choice, unescape(reason)})
		}
	}
	r.expect("<END OF VOTES>")
	return votes
}

// tagged consumes a line between agent tags.
func (r *reader) tagged() (agent, content string) {
	r.expect("<")
	agent = r.until("> ")
	return agent, r.until(" <end of " + agent + ">\n")
}

// roundTrip builds in, as a step and as a presentation, and says how what is
// taken out of the messages differs from what went in.
func roundTrip(in Input, votes []Vote) error {
	names := Anonymous(in.Participants)
	winner := in.Participants[0]
	prompt := strings.ReplaceAll(presentPrompt, "{winner}", names[winner])
	if strings.Contains(in.SystemMessage, coordinationPrompt) || strings.Contains(in.SystemMessage, prompt) {
		return nil // the agent's own message may say anything, and is not escaped
	}
	want := expected(in)
	if err := compare(Build(in), coordinationPrompt, want); err != nil {
		return fmt.Errorf("step: %w", err)
	}
	for _, v := range votes {
		want.Votes = append(want.Votes, Vote{names[v.Voter], names[v.For], Clean(v.Reason)})
	}
	if err := compare(Present(in, winner, votes, false), prompt, want); err != nil {
		return fmt.Errorf("presentation: %w", err)
	}
	return nil
}

func compare(m Messages, prompt string, want parsed) error {
	if !utf8.ValidString(m.System + m.User) {
		return errors.New("not UTF-8")
	}
	got, err := parse(m, prompt)
	if err != nil {
		return fmt.Errorf("%w in\n%.2000q", err, m)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got):\n%s", diff)
	}
	return countStructure(m.User, want)
}

// countStructure looks for delimiters and speakers with eyes that forgive any
// spelling, over the whole message, so that what two texts might form together
// is seen too.
func countStructure(user string, want parsed) error {
	delimiters := 4 + 2*len(want.Notes) + 2*len(want.Answers) + 2*len(want.Votes)
	speakers := 0
	history, rest, ok := strings.Cut(user, "\n<END OF CONVERSATION_HISTORY>")
	if ok {
		delimiters += 2
		rest = history + "\n<END OF CONVERSATION_HISTORY>" + rest
	} else {
		history, rest = "", user
	}
	if strings.HasSuffix(user, "\n<END OF VOTES>") {
		delimiters += 2
	}
	for _, e := range want.History {
		speakers += 2
		if e.LastTurn > 0 || e.QuestionLeftOut {
			speakers--
		}
	}
	if n := len(anyDelimiter.FindAllString(rest, -1)); n != delimiters {
		return fmt.Errorf("%d delimiters, want %d, in\n%.2000q", n, delimiters, user)
	}
	if n := len(unindentedLine.FindAllString(history, -1)); n != speakers {
		return fmt.Errorf("%d speakers, want %d, in\n%.2000q", n, speakers, user)
	}
	return nil
}

// expected is what parse finds in the messages built from in.
func expected(in Input) parsed {
	want := parsed{
		SystemMessage: strings.TrimRightFunc(Clean(in.SystemMessage), unicode.IsSpace),
		Question:      Clean(in.Question),
	}
	for _, e := range in.History {
		e.Question, e.Answer = Clean(e.Question), Clean(e.Answer)
		want.History = append(want.History, e)
	}
	for _, note := range in.Notes {
		want.Notes = append(want.Notes, Clean(note))
	}
	names := Anonymous(in.Participants)
	for _, a := range in.Answers {
		want.Answers = append(want.Answers, Answer{Agent: names[a.Agent], Content: Clean(a.Content)})
	}
	for _, s := range slices.DeleteFunc(slices.Clone(in.Sections), func(s string) bool { return s == "" }) {
		want.Sections = append(want.Sections, Clean(s))
	}
	return want
}
