package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// PutMessages stores the messages and tool results of a panel of one in the step that ended
// with answer, as later turns read them: the JSON of the transcript, which refers to the
// journal's texts. It returns the list and the turn's number of messages with it, including the
// question. A step without tool calls has no list: the question and the answer are all.
func PutMessages(ctx context.Context, blobs Blobs, turn *effect.Turn, said []effect.Entry, answer string) (list blob.Ref, count int, err error) {
	isResult := func(e effect.Entry) bool { return e.Kind == effect.Result }
	if !slices.ContainsFunc(said, isResult) {
		return blob.Ref{}, 2, nil
	}
	b := newInputBuilder(ctx, newShared(turn, blobs), turn, effect.ModelCall{})
	kept := withoutRepairs(said)
	for i := range kept {
		b.settle(&kept[i])
	}
	messages, _ := closed(b.transcript(kept), b.text(turn.Question), answer)
	list = b.encode(kept)
	if b.err != nil {
		return blob.Ref{}, 0, fmt.Errorf("store the messages of the turn: %w", b.err)
	}
	return list, len(messages), nil
}

// withoutRepairs returns entries without the answers that were refused, what was said to them, and the
// messages about the last turn.
func withoutRepairs(said []effect.Entry) []effect.Entry {
	kept := make([]effect.Entry, 0, len(said))
	for _, e := range said {
		if e.Kind == effect.FinalTurn {
			continue
		}
		if e.Kind == effect.Reminder && e.Notice != nil {
			kept = kept[:max(len(kept)-1, 0)]
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// settle turns an entry into its stored form: a notice keeps its present words; the reminder of
// the last turn, and a person's notes, were for that turn alone.
func (b *inputBuilder) settle(e *effect.Entry) {
	e.Final, e.Notes = false, nil
	if e.Notice == nil || b.err != nil {
		return
	}
	told := b.result(*e)
	e.Notice, e.Error = nil, told.IsError
	e.Text = b.put([]byte(told.Content))
}

// addMessages adds to an exchange the messages of its turn, in a form that every provider
// accepts, and records the repairs in a line. It omits an unreadable list, so that the session
// stays usable: only a store that failed is an error.
func addMessages(ctx context.Context, blobs Blobs, list blob.Ref, e *contextbuild.Exchange, note func(string)) error {
	said, err := readMessages(ctx, blobs, list)
	var fault storeFault
	switch {
	case errors.As(err, &fault):
		return fmt.Errorf("history: the messages of turn %d: %w", e.Turn, err)
	case err != nil:
		note(fmt.Sprintf("turn %d is shown without what its tools were asked and returned, which cannot be read: %s", e.Turn, err))
		return nil
	}
	var repairs []string
	if e.Messages, repairs = closed(said, e.Question, e.Answer); len(repairs) > 0 {
		note(fmt.Sprintf("turn %d was repaired before it was shown: %s", e.Turn, strings.Join(repairs, "; ")))
	}
	return nil
}

// MessagesBetween returns the messages of a panel of one between the question and the answer of a
// past turn. It returns none for a list that cannot be read, as later turns do: only a store that
// failed is an error.
func MessagesBetween(ctx context.Context, blobs Blobs, past sessions.Turn) ([]backends.Message, error) {
	if past.Messages == (blob.Ref{}) {
		return nil, nil
	}
	e := contextbuild.Exchange{Turn: past.Number, Question: past.Question, Answer: past.Answer}
	err := addMessages(ctx, blobs, past.Messages, &e, func(string) {})
	if err != nil || len(e.Messages) < 2 {
		return nil, err
	}
	return e.Messages[1 : len(e.Messages)-1], nil
}

// readMessages reads a list that PutMessages wrote, or that an import brought: from an import
// it accepts only messages of models and results of tools.
func readMessages(ctx context.Context, blobs Blobs, list blob.Ref) ([]backends.Message, error) {
	none := &effect.Turn{}
	b := newInputBuilder(ctx, newShared(none, blobs), none, effect.ModelCall{})
	kept := slices.Clone(decoded[[]effect.Entry](&b.textStore, list))
	for i, e := range kept {
		if e.Kind != effect.Assistant && e.Kind != effect.Result {
			return nil, fmt.Errorf("entry %d is of the kind %q", i+1, e.Kind)
		}
		kept[i] = effect.Entry{Kind: e.Kind, Text: e.Text, CallID: e.CallID, Name: e.Name, Error: e.Error, Files: e.Files}
	}
	messages := b.transcript(kept)
	for i, m := range messages {
		if m.Role != backends.RoleAssistant && m.Role != backends.RoleTool {
			return nil, fmt.Errorf("message %d is of the role %q", i+1, m.Role)
		}
	}
	return messages, b.err
}

// closed returns the messages of a turn, from its question to its answer, in the form of
// backends.Repair, and the repairs. The last message has the session's answer, even if the model's
// last message differed.
func closed(said []backends.Message, question, answer string) (messages []backends.Message, repairs []string) {
	messages = append([]backends.Message{backends.User(question)}, said...)
	last := len(messages) - 1
	isWord := messages[last].Role == backends.RoleAssistant && len(messages[last].ToolCalls()) == 0
	if isWord {
		messages[last] = citing(messages[last], answer)
	}
	if isWord && contextbuild.Clean(messages[last].Text()) == answer {
		return backends.RepairNoting(messages)
	}
	var notes []string
	if isWord {
		messages = messages[:last]
		notes = []string{fmt.Sprintf("message %d was not the answer, which stands in its place", last+1)}
	}
	messages, repairs = backends.RepairNoting(append(messages, backends.Assistant(answer)))
	return messages, append(repairs, notes...)
}

// citing returns the last message of a turn with the list of sources that its answer has at the end.
// It returns any other message as it is.
func citing(m backends.Message, answer string) backends.Message {
	list, isLonger := strings.CutPrefix(answer, strings.TrimRight(contextbuild.Clean(m.Text()), " \n"))
	if !isLonger || !strings.HasPrefix(list, "\n\n"+sourcesHeading+"\n") {
		return m
	}
	parts := slices.Clone(m.Parts)
	for i, p := range slices.Backward(parts) {
		if text, ok := p.(backends.Text); ok {
			parts[i] = backends.Text{Text: strings.TrimRight(text.Text, " \n") + list}
			return backends.Message{Role: m.Role, Parts: parts}
		}
	}
	return m
}
