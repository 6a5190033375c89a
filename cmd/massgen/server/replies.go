package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/sessions"
)

// toolReply is what a client sends to a turn that has asked it to run tools.
type toolReply struct {
	at      place
	results map[string]string // by the ids of their calls
	// text is what the user adds to the question.
	text string
	// isWhole reports that the request has the calls too, so that it can be answered without the turn.
	isWhole bool
}

// readReply reads the messages after the assistant's last one as the reply to a turn of this server. ok is false
// if they have no results, results of calls that this server has not made, or files or a text that a running turn
// cannot take. In the last case the reply has the place of the turn. A request that continues a response has no
// question from before the calls.
func readReply(messages []message, continues bool) (reply toolReply, ok bool, err error) {
	start := 0
	asked := map[string]bool{} // the ids of the request's calls
	for i, m := range messages {
		if m.role == roleAssistant {
			start = i + 1
		}
		for _, c := range m.calls {
			asked[c.ID] = true
		}
	}
	reply = toolReply{results: map[string]string{}, isWhole: true}
	var texts []string
	var foreign, unfit error
	hasResult := false
	for i, m := range messages[start:] {
		if m.role != roleTool {
			if !hasResult && start == 0 && !continues {
				continue
			}
			if len(m.files) > 0 {
				unfit = badRequest("messages", "messages: files beside results need the calls of the results in the same request")
			}
			if strings.TrimSpace(m.text) != "" {
				texts = append(texts, m.text)
			}
			continue
		}
		param := fmt.Sprintf("messages[%d].tool_call_id", start+i)
		of, isOwn := turnOfCall(m.answers)
		switch {
		case !isOwn && !asked[m.answers]:
			return toolReply{}, false, badRequest(param, param+" is the id of no call that this server has asked for")
		case !isOwn || hasResult && of != reply.at:
			foreign = badRequest(param, param+" belongs to another turn than the others")
		}
		hasResult = true
		reply.isWhole = reply.isWhole && asked[m.answers]
		reply.at, reply.results[m.answers] = of, m.text
	}
	reply.text = strings.Join(texts, "\n\n")
	if fault := coordinator.CheckNote(reply.text); len(texts) > 0 && fault != nil {
		unfit = badRequest("messages", "messages: "+fault.Error())
	}
	switch {
	case !hasResult:
		return toolReply{}, false, nil
	case foreign != nil && reply.isWhole:
		return toolReply{}, false, nil
	case foreign != nil:
		return toolReply{}, false, foreign
	case unfit != nil && !reply.isWhole:
		return toolReply{}, false, unfit
	}
	return reply, unfit == nil, nil
}

// replyOf returns the reply of a request, as readReply does. A call counts as made by another server if the caller
// has no such session here.
func (s *turns) replyOf(ctx context.Context, q request) (reply toolReply, ok bool, err error) {
	reply, ok, err = readReply(q.messages, q.previous != nil)
	if err != nil || !reply.isWhole {
		return reply, ok, err
	}
	if mayUse(ctx, reply.at.session) {
		_, err = s.store.Session(ctx, reply.at.session)
	} else {
		err = sessions.ErrNoSession
	}
	if errors.Is(err, sessions.ErrNoSession) {
		return toolReply{}, false, nil
	}
	return reply, ok, err
}

// receive passes on a reply to the turn. The turn gets the text first, so that the model reads it with the
// results.
func (r *run) receive(ctx context.Context, reply toolReply) error {
	if reply.text != "" {
		if err := r.turn.Note(ctx, reply.text); err != nil {
			return err
		}
	}
	r.calls.answer(reply.results)
	return nil
}

// isOver reports whether an error says that a turn has ended.
func isOver(err error) bool {
	var known refusal
	return errors.Is(err, driver.ErrOver) || errors.As(err, &known) && known.code == overRefusal().code
}

// atWorkRefusal returns the refusal of a reply to a turn that works for another request.
func atWorkRefusal() refusal {
	return refusal{status: http.StatusConflict, code: "session_busy", message: "another request is at work on this turn"}
}
