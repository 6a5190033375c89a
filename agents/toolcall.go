package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// callTool runs the tool of a call. The model gets a failure as the call's result, and goes on
// (seed 004).
func (d *Doer) callTool(ctx context.Context, turn *effect.Turn, e effect.ToolCall, r *running) (effect.Reply, error) {
	stored := context.WithoutCancel(ctx)
	texts := textStore{ctx: stored, cache: d.of(turn).cache}
	said := decoded[backends.Message](&texts, e.Message)
	if texts.err != nil {
		return nil, fmt.Errorf("read the message of %s: %w", e.Key, texts.err)
	}
	message, err := callsIn(said, e)
	if err != nil {
		return nil, err
	}
	arguments := message[e.Call].Arguments
	member := d.member(e.Key.Agent)
	reply := effect.ToolReply{Index: e.Key.Index}
	info, err := d.callInfo(stored, turn, e, message)
	if err != nil {
		return nil, err
	}
	if why, refused := member.refuses(e, arguments); refused {
		reply.Error, reply.State = true, effect.ToolDenied
		reply.Result, err = d.Blobs.Put(stored, []byte(notPermittedText(why)))
		return reply, err
	}
	var notShown []string
	result, planned := member.planned(e, arguments)
	if planned {
		reply.State = effect.ToolPlanned
	} else {
		var returned returnedFiles
		called, stop := d.limited(context.WithValue(WithCallInfo(ctx, info), returnedFilesKey{}, &returned), turn, e, r)
		begun := time.Now()
		result, reply.State, reply.Error = member.callTool(called, e.Name, arguments)
		reply.ElapsedMS = time.Since(begun).Milliseconds()
		reply.Files, notShown, err = returned.taken(called, d.Blobs, member.Takes)
		stop()
		if err != nil {
			return nil, err
		}
	}
	result = strings.Join(append([]string{result}, notShown...), "\n")
	if reply.Result, err = d.Blobs.Put(stored, []byte(contextbuild.Clean(result))); err != nil {
		return nil, err
	}
	return d.cut(stored, member, e.Name, reply, turn.Limits.ResultLimit)
}

// refuses reports whether the present rules deny a call, and why. The journal has the decision
// by the rules of the process that wrote it.
func (m Member) refuses(e effect.ToolCall, arguments string) (why string, refused bool) {
	if m.Permit == nil {
		return "", false
	}
	permission, why := m.Permit(e.Name, arguments)
	return why, permission == effect.Denied || permission == effect.Asked && !e.Asked
}

// planned reports whether a call is only planned, and returns the text that replaces its
// result.
func (m Member) planned(e effect.ToolCall, arguments string) (result string, planned bool) {
	tool := m.tool(e.Name)
	if tool == nil || m.Plan == nil || e.Key.Purpose == effect.FinalTool {
		return "", false
	}
	return m.Plan(tool, arguments)
}

// cut cuts a result that is too long. It cuts the stored text, in which secrets may be masked:
// nothing could recognise half of a secret.
func (d *Doer) cut(ctx context.Context, member Member, name string, reply effect.ToolReply, limit int) (effect.Reply, error) {
	if limit <= 0 || reply.Result.Bytes <= limit {
		return reply, nil
	}
	result, err := d.Blobs.Get(ctx, reply.Result)
	if err != nil {
		return nil, err
	}
	shown := member.shownResult(name, string(result), limit)
	reply.Whole = reply.Result
	if reply.Result, err = d.Blobs.Put(ctx, []byte(shown)); err != nil {
		return nil, err
	}
	return reply, nil
}

// toolFault returns an error in the words for the model.
func toolFault(format string, args ...any) error {
	return ErrorResult("Error: " + fmt.Sprintf(format, args...))
}

// cancelledResult is the result of a cancelled tool call.
const cancelledResult = "Error: the call was cancelled"

// overtime is the cause of a context that ended with the limit of a tool call, in the words for the model.
type overtime struct {
	tool  string
	limit time.Duration
}

func (o overtime) Error() string {
	return fmt.Sprintf("the tool %s was stopped after %s, the most that a call may take. Go on without it, or ask it for less.", o.tool, o.limit)
}

// overtimeOf returns the overtime that ended ctx, if that is why it ended.
func overtimeOf(ctx context.Context) (o overtime, is bool) {
	is = errors.As(context.Cause(ctx), &o)
	return o, is
}

// limited returns the context of a tool's call, which ends at the limit of the call. If stop is not called within
// AbandonAfter after that, the call is abandoned.
func (d *Doer) limited(ctx context.Context, turn *effect.Turn, e effect.ToolCall, r *running) (called context.Context, stop func()) {
	limit := time.Duration(turn.Limits.ToolLimit) * time.Millisecond
	if limit <= 0 || d.member(e.Key.Agent).isForwarded(e.Name) {
		return ctx, func() {}
	}
	late := overtime{e.Name, limit}
	called, release := context.WithTimeoutCause(ctx, limit, late)
	patience := time.AfterFunc(limit+AbandonAfter, func() { r.overdue <- late })
	return called, func() {
		patience.Stop()
		release()
	}
}

// callTool calls a tool, and returns its result, or the text that the model gets instead.
func (m Member) callTool(ctx context.Context, name, arguments string) (result string, state effect.ToolState, failed bool) {
	tool := m.tool(name)
	if tool == nil {
		return toolFault("the tool %s is not there any more. Go on without it.", name).Error(), effect.ToolRefused, true
	}
	if ctx.Err() != nil { // it has waited for other calls until then
		return cancelledResult, effect.ToolCancelled, true
	}
	result, err := callGuarded(ctx, tool, name, arguments)
	if err == nil {
		return result, "", false
	}
	if late, isLate := overtimeOf(ctx); isLate {
		return "Error: " + late.Error(), "", true
	}
	if ctx.Err() != nil {
		state = effect.ToolCancelled
	}
	var own ErrorResult
	switch {
	case errors.As(err, &own):
		result = string(own)
	case state == effect.ToolCancelled:
		result = cancelledResult
	default:
		result = "Error: " + err.Error()
	}
	return result, state, true
}

// Arguments returns a tool call's arguments, as the model wrote them.
func Arguments(texts Lookup, e effect.ToolCall) (string, error) {
	if e.Key.Purpose == effect.HostedTool {
		call, err := hostedCall(texts, e)
		return call.Arguments, err
	}
	calls, err := callsBeside(texts, e)
	if err != nil {
		return "", err
	}
	return calls[e.Call].Arguments, nil
}

// hostedCall reads a call of a hosted tool from its message.
func hostedCall(texts Lookup, e effect.ToolCall) (backends.HostedCall, error) {
	m, err := readJSON[backends.Message](texts, e.Message)
	if calls := m.HostedCalls(); err == nil && e.Call < len(calls) {
		return calls[e.Call], nil
	}
	return backends.HostedCall{Name: e.Name}, err
}

// callsBeside returns all calls of the message that contains a tool call.
func callsBeside(texts Lookup, e effect.ToolCall) ([]backends.ToolCall, error) {
	data, err := texts(e.Message)
	if err != nil {
		return nil, err
	}
	var message backends.Message
	if err := message.UnmarshalJSON(data); err != nil {
		return nil, fmt.Errorf("read the message of %s: %w", e.Key, err)
	}
	return callsIn(message, e)
}

// callsIn returns all calls of the message that contains a tool call.
func callsIn(message backends.Message, e effect.ToolCall) ([]backends.ToolCall, error) {
	calls := message.ToolCalls()
	if e.Call >= len(calls) {
		return nil, fmt.Errorf("the message of %s has %d calls", e.Key, len(calls))
	}
	return calls, nil
}

// tool returns the member's tool with a name, or nil.
func (m Member) tool(name string) Tool {
	for _, t := range m.Tools {
		if t.Definition().Name == name {
			return t
		}
	}
	return nil
}

// isForwarded reports whether the person who asks runs the tool with a name.
func (m Member) isForwarded(name string) bool {
	tool := m.tool(name)
	return tool != nil && tool.Definition().Forwarded
}

// callGuarded calls a tool. A tool that panics has failed, and so has one whose result is no
// valid text.
func callGuarded(ctx context.Context, t Tool, name, arguments string) (result string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = toolFault("the tool %s broke down (%v). Go on without it.", name, r)
		}
	}()
	result, err = t.Call(ctx, arguments)
	if err == nil && isBinary(result) {
		err = toolFault("the tool %s returned %d bytes that are no text. Go on without them.", name, len(result))
	}
	return result, err
}

// isBinary reports whether a result is not text: it has a NUL, and a tenth of it would have to be replaced.
// Odd bytes of a text are only cleaned.
func isBinary(result string) bool {
	return strings.ContainsRune(result, 0) &&
		10*strings.Count(contextbuild.Clean(result), string(utf8.RuneError)) > utf8.RuneCountInString(result)
}

// shownResult returns the beginning and the end of a long result, and between them a line that counts the bytes
// left out.
func (m Member) shownResult(name, result string, limit int) string {
	head, tail := limit/2, len(result)-limit/2
	for head > 0 && !utf8.RuneStart(result[head]) {
		head--
	}
	for tail < len(result) && !utf8.RuneStart(result[tail]) {
		tail++
	}
	word := fmt.Sprintf("%d of %d bytes are left out here", tail-head, len(result))
	if m.KeepResult != nil {
		if where, err := m.KeepResult(name, result); err != nil {
			word += fmt.Sprintf("; the whole could not be kept: %v", err)
		} else {
			word += "; the whole is in " + where
		}
	}
	return result[:head] + "\n[... " + word + " ...]\n" + result[tail:]
}

// ReadResult returns the result of a tool call as the model got it, empty while the call runs.
// If the tool was not offered, or there were too many calls, it is only the reason, since such a
// result is not stored. For a hosted tool it is the text that the provider sent.
func ReadResult(texts Lookup, e effect.ToolCall, result blob.Ref, state effect.ToolState, why string) (string, error) {
	switch {
	case e.Key.Purpose == effect.HostedTool:
		call, err := hostedCall(texts, e)
		return call.Result, err
	case state == effect.ToolDenied:
		return notPermittedText(why), nil
	case result != (blob.Ref{}):
		data, err := texts(result)
		return string(data), err
	case state == effect.ToolRefused:
		return "Error: " + why, nil
	case state == effect.ToolCancelled:
		return cancelledResult, nil
	}
	return "", nil
}
