package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// object is a JSON object in a form of OpenAI's API.
type object = map[string]any

// response writes a response.
type response struct {
	respond      responder
	run          *run
	view         *view
	id           string
	items        string // the part of the items' ids after their prefix, but not of calls
	said         asking
	instructions *string
	tools        []toolDefinition
}

func newResponse(respond responder, r *run, v *view, said asking) *response {
	return &response{respond: respond, run: r, view: v, said: said, items: itemsID(r.place(), v.seen), id: responseID(turnPlace{r.place(), r.model}, v.seen)}
}

// The states of a response and of its items.
const (
	stateInProgress = "in_progress"
	stateCompleted  = "completed"
	stateCancelled  = "cancelled"
	stateFailed     = "failed"
)

// isRunning reports whether the response is not over.
func (r *response) isRunning() bool {
	if past := r.run.past; past != nil {
		return past.isRunning()
	}
	return r.run.turn.Status() == sessions.Running
}

// state returns the state of a response that has ended.
func (o end) state() string {
	switch {
	case o.Status == kernel.Cut:
		return stateCancelled
	case o.err != nil:
		return stateFailed
	}
	return stateCompleted
}

// json returns the response as it is now. A nil end means a running response.
func (r *response) json(o *end, output []object) object {
	metadata := r.said.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	all := object{
		"id": r.id, "object": "response", "created_at": r.run.began.Unix(), "status": stateInProgress, "model": r.run.model,
		"background": r.said.IsBackground, "metadata": metadata, "output": output,
		"error": nil, "incomplete_details": nil, "instructions": r.instructions, "previous_response_id": nil,
		// Requests cannot change these.
		"parallel_tool_calls": true, "tools": r.toolList(), "tool_choice": "auto", "temperature": nil, "top_p": nil,
		"max_output_tokens": nil, "reasoning": object{"effort": nil, "summary": "detailed"},
		"text": object{"format": object{"type": "text"}}, "truncation": "disabled",
	}
	if len(r.said.Format) > 0 {
		all["text"] = object{"format": r.said.Format}
	}
	if r.said.Previous != "" {
		all["previous_response_id"] = r.said.Previous
	}
	if o == nil {
		return all
	}
	all["status"], all["usage"] = o.state(), responseUsage(o.used)
	if a := r.respond.analysisOf(*o); a != nil {
		all["analysis"] = a
	}
	switch o.state() {
	case stateCompleted:
		all["completed_at"] = r.ended().Unix()
	case stateFailed:
		known := r.respond.refusalOf(o.err)
		code := "server_error"
		if known.status == http.StatusTooManyRequests {
			code = "rate_limit_exceeded"
		}
		all["error"] = object{"code": code, "message": r.respond.redact(known.message)}
	}
	return all
}

func (r *response) ended() time.Time {
	if past := r.run.past; past != nil {
		return past.Ended
	}
	return r.run.turn.Ended()
}

// toolList returns the tools that the client runs, in the form of the API.
func (r *response) toolList() []object {
	list := []object{}
	for _, t := range r.tools {
		list = append(list, object{"type": "function", "name": t.name, "description": t.description, "parameters": t.schema, "strict": nil})
	}
	return list
}

// responseUsage returns the usage of one response in the form of the Responses API.
func responseUsage(u budget.Usage) object {
	return object{
		"input_tokens": u.InputTokens, "input_tokens_details": object{"cached_tokens": u.CachedInputTokens},
		"output_tokens": u.OutputTokens, "output_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
		"total_tokens": u.InputTokens + u.OutputTokens,
	}
}

// The prefixes of items' ids, by kind.
const (
	reasoningItem = "rs_"
	messageItem   = "msg_"
	callItem      = "fc_"
)

// item returns an item of the output. A message's text has links to sources.
func (r *response) item(kind string, index int, state, text string, sources []backends.Citation) object {
	i := object{"id": fmt.Sprintf("%s%s_%d", kind, r.items, index), "status": state}
	if kind == reasoningItem {
		i["type"], i["summary"] = "reasoning", []object{}
		if text != "" {
			i["summary"] = []object{reasoningPart(text)}
		}
		return i
	}
	i["type"], i["role"], i["content"] = "message", roleAssistant, []object{}
	if text != "" {
		i["content"] = []object{textPart(text, inResponse(annotate(text, sources)))}
	}
	return i
}

func reasoningPart(text string) object { return object{"type": "summary_text", "text": text} }

func textPart(text string, annotations []object) object {
	return object{"type": "output_text", "text": text, "annotations": annotations, "logprobs": []object{}}
}

// callOf returns the item of the output that asks the client to run one of its tools. Its id has the call's.
func (r *response) callOf(c toolCall, state, arguments string) object {
	return object{
		"id": callItem + strings.TrimPrefix(c.ID, callPrefix), "type": "function_call", "status": state,
		"call_id": c.ID, "name": c.Function.Name, "arguments": arguments,
	}
}

// finish waits for the end of the response, and returns it with the output.
func (r *response) finish(ctx context.Context) (end, []object) {
	e, all := r.run.whole(ctx, r.respond, r.view)
	list := []object{}
	for _, part := range []struct{ kind, text string }{{reasoningItem, all.reasoning}, {messageItem, all.content}} {
		if part.text != "" {
			list = append(list, r.item(part.kind, len(list), stateCompleted, part.text, all.sources))
		}
	}
	for _, c := range all.calls {
		list = append(list, r.callOf(c, stateCompleted, c.Function.Arguments))
	}
	return e, list
}

// whole answers when the response has ended.
func (r *response) whole(ctx context.Context, w http.ResponseWriter) error {
	e, output := r.finish(ctx)
	if e.err != nil {
		return e.err
	}
	return r.respond.write(w, http.StatusOK, r.json(&e, output))
}

// show answers with the response as it is now.
func (r *response) show(ctx context.Context, w http.ResponseWriter) error {
	if r.isRunning() {
		return r.respond.write(w, http.StatusOK, r.json(nil, []object{}))
	}
	e, output := r.finish(ctx)
	if errors.Is(e.err, coordinator.ErrLeft) {
		return e.err
	}
	return r.respond.write(w, http.StatusOK, r.json(&e, output))
}

// stream sends the response as server-sent events while the turn runs, from the event after the number
// after on. A turn that was over before has other numbers. A client that has some of its events gets
// only the last event, which has the whole response.
func (r *response) stream(ctx context.Context, w http.ResponseWriter, after int) {
	s := responseStream{response: r, out: r.respond.openStream(w), after: after, done: []object{}}
	defer s.out.close()
	if r.run.past != nil && after >= 0 {
		s.after = math.MaxInt
	}
	s.send("response.created", object{"response": r.json(nil, s.done)})
	s.send("response.in_progress", object{"response": r.json(nil, s.done)})
	var calls []toolCall
	for p := range r.respond.pieces(ctx, r.run, r.view) {
		s.add(reasoningItem, p.reasoning)
		s.add(messageItem, p.content)
		calls, s.sources = p.calls, p.sources
	}
	s.closeItem()
	for _, c := range calls {
		s.call(c)
	}
	e := r.run.end(ctx, r.view, calls)
	if errors.Is(e.err, context.Canceled) || errors.Is(e.err, coordinator.ErrLeft) { // the client is gone, or the response goes on later
		return
	}
	s.number, s.after = max(s.number, after+1), after // the end is sent in any case
	last := map[string]string{stateCompleted: "response.completed", stateCancelled: "response.incomplete", stateFailed: "response.failed"}
	s.send(last[e.state()], object{"response": r.json(&e, s.done)})
}

// responseStream sends the events of a response.
type responseStream struct {
	*response
	out    *stream
	number int // of the next event
	after  int
	done   []object        // items
	kind   string          // of the open item, "" for none
	text   strings.Builder // of that item
	// sources are the sources of the whole answer.
	sources []backends.Citation
}

// send sends an event.
func (s *responseStream) send(kind string, event object) {
	event["type"], event["sequence_number"] = kind, s.number
	if s.number > s.after {
		s.out.send(event, "event: "+kind)
	}
	s.number++
}

// part adds to an event the place of its part in the output.
func (s *responseStream) part(event object) object {
	event["item_id"], event["output_index"] = s.item(s.kind, len(s.done), "", "", nil)["id"], len(s.done)
	if s.kind == reasoningItem {
		event["summary_index"] = 0
	} else {
		event["content_index"] = 0
	}
	return event
}

// add adds a text to the open item, or to a new item of another kind.
func (s *responseStream) add(kind, text string) {
	if text == "" {
		return
	}
	if kind != s.kind {
		s.closeItem()
		s.openItem(kind)
	}
	s.text.WriteString(text)
	if kind == reasoningItem {
		s.send("response.reasoning_summary_text.delta", s.part(object{"delta": text}))
		return
	}
	s.send("response.output_text.delta", s.part(object{"delta": text, "logprobs": []object{}}))
}

func (s *responseStream) openItem(kind string) {
	s.kind = kind
	s.text.Reset()
	s.send("response.output_item.added", object{"output_index": len(s.done), "item": s.item(kind, len(s.done), stateInProgress, "", nil)})
	if kind == reasoningItem {
		s.send("response.reasoning_summary_part.added", s.part(object{"part": reasoningPart("")}))
		return
	}
	s.send("response.content_part.added", s.part(object{"part": textPart("", []object{})}))
}

func (s *responseStream) closeItem() {
	text := s.text.String()
	switch s.kind {
	case "":
		return
	case reasoningItem:
		s.send("response.reasoning_summary_text.done", s.part(object{"text": text}))
		s.send("response.reasoning_summary_part.done", s.part(object{"part": reasoningPart(text)}))
	case messageItem:
		s.send("response.output_text.done", s.part(object{"text": text, "logprobs": []object{}}))
		annotations := inResponse(annotate(text, s.sources))
		for i, a := range annotations {
			s.send("response.output_text.annotation.added", s.part(object{"annotation_index": i, "annotation": a}))
		}
		s.send("response.content_part.done", s.part(object{"part": textPart(text, annotations)}))
	}
	done := s.item(s.kind, len(s.done), stateCompleted, text, s.sources)
	s.send("response.output_item.done", object{"output_index": len(s.done), "item": done})
	s.done, s.kind = append(s.done, done), ""
}

// call sends a call of the client's tools.
func (s *responseStream) call(c toolCall) {
	index, arguments := len(s.done), c.Function.Arguments
	begun, done := s.callOf(c, stateInProgress, ""), s.callOf(c, stateCompleted, arguments)
	s.send("response.output_item.added", object{"output_index": index, "item": begun})
	s.send("response.function_call_arguments.delta", object{"item_id": begun["id"], "output_index": index, "delta": arguments})
	s.send("response.function_call_arguments.done", object{"item_id": begun["id"], "output_index": index, "name": c.Function.Name, "arguments": arguments})
	s.send("response.output_item.done", object{"output_index": index, "item": done})
	s.done = append(s.done, done)
}
