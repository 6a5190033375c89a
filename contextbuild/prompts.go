package contextbuild

import (
	_ "embed"
	"strings"
)

// The prompts are wire format: they end without a newline, and the first two are those of seed
// 003 to the character. Braces enclose names of values.
var (
	//go:embed prompts/coordination.txt
	coordinationPrompt string
	//go:embed prompts/voting_balanced.txt
	votingBalanced string
	//go:embed prompts/voting_strict.txt
	votingStrict string
	//go:embed prompts/voting_threshold.txt
	votingThreshold string
	//go:embed prompts/context_note.txt
	contextNote string
	//go:embed prompts/summary_question.txt
	summaryQuestion string
	//go:embed prompts/summary_answer.txt
	summaryAnswer string
	//go:embed prompts/describe_files.txt
	describeFiles string
	//go:embed prompts/left_out.txt
	leftOut string
	//go:embed prompts/step_left_out.txt
	stepLeftOut string
	//go:embed prompts/step_summarize.txt
	stepSummaryPrompt string
	//go:embed prompts/step_summary_question.txt
	stepSummaryQuestion string
	//go:embed prompts/step_summary.txt
	stepSummary string
	//go:embed prompts/summarize.txt
	summarizePrompt string
	//go:embed prompts/reminder_both.txt
	reminderBoth string
	//go:embed prompts/reminder_answer.txt
	reminderAnswer string
	//go:embed prompts/reminder_vote.txt
	reminderVote string
	//go:embed prompts/reminder_json.txt
	reminderJSON string
	//go:embed prompts/json_mode.txt
	jsonMode string
	//go:embed prompts/json_answer.txt
	jsonAnswer string
	//go:embed prompts/json_vote.txt
	jsonVote string
	//go:embed prompts/answer_form.txt
	answerForm string
	//go:embed prompts/reply_form.txt
	replyForm string
	//go:embed prompts/update.txt
	updatePrompt string
	//go:embed prompts/notes.txt
	notesPrompt string
	//go:embed prompts/final_turn.txt
	finalTurn string
	//go:embed prompts/tools.txt
	toolPrompt string
	//go:embed prompts/final_reply.txt
	finalReply string
	//go:embed prompts/present.txt
	presentPrompt string
	//go:embed prompts/synthesize.txt
	synthesizePrompt string
	//go:embed prompts/judge.txt
	judgePrompt string
	//go:embed prompts/tie.txt
	tiePrompt string
	//go:embed prompts/check_failed.txt
	checkFailed string
	//go:embed prompts/check_failed_reply.txt
	checkFailedReply string
	//go:embed prompts/check_line.txt
	checkLine string
	//go:embed prompts/review.txt
	reviewPrompt string
	//go:embed prompts/restarted.txt
	restartedPrompt string
	//go:embed prompts/verdict.txt
	verdictPrompt string
	//go:embed prompts/judge_form.txt
	judgeForm string
	//go:embed prompts/judge_again.txt
	judgeAgain string
	//go:embed prompts/judge_synthesize.txt
	judgeSynthesize string
	//go:embed prompts/judge_synthesize_form.txt
	judgeSynthesizeForm string
)

// noteIndent is the line before the context note. It stands here, and not in a
// prompt file, because editors strip white space at the end of lines.
const noteIndent = "            "

// Reminder returns the text that follows a message without a tool call (DESIGN §4 rule 7). It
// names the tools that the agent may use with success; at least one of mayAnswer and mayVote is
// true, since no other agent starts a step. In JSON mode the text is always the same.
func Reminder(mayAnswer, mayVote, json bool) string {
	switch {
	case json:
		return reminderJSON
	case !mayVote:
		return reminderAnswer
	case !mayAnswer:
		return reminderVote
	}
	return reminderBoth
}

// JSONMode returns the section of the system message that requests a JSON object instead of a
// tool call. It shows the forms that are accepted now; at least one of mayAnswer and mayVote is
// true. Small models repeat the forms, so nothing in them could pass for an answer or a vote.
func JSONMode(mayAnswer, mayVote bool) string {
	forms := []string{jsonMode}
	if mayAnswer {
		forms = append(forms, jsonAnswer)
	}
	if mayVote {
		forms = append(forms, jsonVote)
	}
	return strings.Join(forms, "\n")
}

// AddAnswerForm adds the section of the system message that says which form answers have. The
// schema is one line of JSON.
func (in *Input) AddAnswerForm(schema string, coordinates bool) {
	form := replyForm
	if coordinates {
		form = answerForm
	}
	in.Sections = append(in.Sections, form+"\n\n"+schema)
}

// FinalTurn returns the message that says to an agent that its own tools are gone, and that only
// the coordination tools are left, or none if it does not coordinate.
func FinalTurn(coordinates bool) string {
	if coordinates {
		return finalTurn
	}
	return finalReply
}

// ToolPrompt returns the system message of an agent that has tools of its own and no system
// message (seed 004).
func ToolPrompt() string { return toolPrompt }

// Update returns the text with which a busy agent gets the current answers (DESIGN §4 rule 8).
// It goes at the end of the last tool result of a message. The answers are shown as Build shows
// them.
func Update(participants []string, answers []Answer) string {
	return joinSections(updatePrompt, answersSection(newPanel(participants), answers))
}

// Vote is a valid vote: the voter, the author of its answer, both as config ids, and the
// reason.
type Vote struct {
	Voter  string `json:"voter"`
	For    string `json:"for"`
	Reason string `json:"reason"`
}

// Present returns the messages of the call in which the winner, a config id,
// writes the final response (DESIGN §4 rule 9): from its own answer
// (winner_present), or from all answers if synthesize is set. Votes are shown in
// the order given. It panics as Build does.
func Present(in Input, winner string, votes []Vote, synthesize bool) Messages {
	prompt := presentPrompt
	if synthesize {
		prompt = synthesizePrompt
	}
	p := newPanel(in.Participants)
	prompt = strings.ReplaceAll(prompt, "{winner}", p.name(winner))
	return Messages{
		System: systemMessage(in, prompt),
		User:   joinSections(append(questionSections(in), votesSection(p, votes))...),
	}
}

func votesSection(p panel, votes []Vote) string {
	lines := []string{votesOpen}
	for _, v := range votes {
		lines = append(lines, p.tagged(v.Voter, "for "+p.name(v.For)+": "+escape(v.Reason)))
	}
	if len(votes) == 0 {
		lines = append(lines, "(no votes)")
	}
	return strings.Join(append(lines, votesClose), "\n")
}
