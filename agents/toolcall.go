package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/kernel"
)

// callTool runs the tool that a message's call names. Whatever goes wrong with it is a
// result that says so: the model goes on with that (seed 004).
func (d *Doer) callTool(ctx context.Context, turn machine.Turn, e machine.ToolCall) (machine.Event, error) {
	stored := context.WithoutCancel(ctx)
	arguments, err := Arguments(stored, d.Blobs, e)
	if err != nil {
		return nil, err
	}
	member := d.Members[e.Key.Agent]
	tool := member.tool(e.Name)
	if tool != nil && member.Plan != nil && e.Key.Purpose != machine.FinalTool {
		tool = member.Plan(tool)
	}
	info, err := d.callInfo(stored, turn, e)
	if err != nil {
		return nil, err
	}
	result, err := runTool(WithCallInfo(ctx, info), tool, e.Name, arguments, time.Duration(turn.Limits.ToolLimit)*time.Millisecond)
	reply := machine.ToolReply{Index: e.Key.Index, Error: err != nil}
	result = contextbuild.Clean(told(result, err))
	if reply.Result, err = d.Blobs.Put(stored, []byte(result)); err != nil {
		return nil, err
	}
	return d.cut(stored, member, e.Name, reply, turn.Limits.ResultLimit)
}

// cut cuts a result that is too long. It cuts what the store holds, which may have masked
// secrets: half of one would be known to nobody for what it is.
func (d *Doer) cut(ctx context.Context, member Member, name string, reply machine.ToolReply, limit int) (machine.Event, error) {
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

// toolFault is an error in the words that the model is told.
func toolFault(format string, args ...any) error {
	return ErrorResult("Error: " + fmt.Sprintf(format, args...))
}

// told is what the model is sent of a result.
func told(result string, err error) string {
	var own ErrorResult
	switch {
	case err == nil:
		return result
	case errors.As(err, &own):
		return string(own)
	}
	return "Error: " + err.Error()
}

// Arguments returns what a tool is called with, as the model wrote it.
func Arguments(ctx context.Context, blobs Blobs, e machine.ToolCall) (string, error) {
	data, err := blobs.Get(ctx, e.Message)
	if err != nil {
		return "", err
	}
	var message backends.Message
	if err := json.Unmarshal(data, &message); err != nil {
		return "", fmt.Errorf("read the message of %s: %w", e.Key, err)
	}
	calls := message.ToolCalls()
	if e.Call >= len(calls) {
		return "", fmt.Errorf("the message of %s has %d calls", e.Key, len(calls))
	}
	return calls[e.Call].Arguments, nil
}

// runTool runs a tool for no longer than a limit; 0: as long as it takes. A tool that
// does not end then, although it was told to, is left behind.
func runTool(ctx context.Context, tool Tool, name, arguments string, limit time.Duration) (string, error) {
	if tool == nil {
		return "", toolFault("the tool %s is not there any more. Go on without it.", name)
	}
	if limit <= 0 {
		return callGuarded(ctx, tool, name, arguments)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type outcome struct {
		result string
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := callGuarded(limited, tool, name, arguments)
		done <- outcome{result, err}
	}()
	late := toolFault("the tool %s was stopped after %s, the most that a call may take. Go on without it, or ask it for less.", name, limit)
	select {
	case o := <-done:
		if o.err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
			return "", late
		}
		return o.result, o.err
	case <-limited.Done():
	}
	patience := time.NewTimer(AbandonAfter)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return "", late
}

// tool is the member's tool with a name, nil if it has none.
func (m Member) tool(name string) Tool {
	for _, t := range m.Tools {
		if t.Definition().Name == name {
			return t
		}
	}
	return nil
}

// callGuarded calls a tool. One that panics has failed, and so has one whose result is
// no text.
func callGuarded(ctx context.Context, t Tool, name, arguments string) (result string, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = "", toolFault("the tool %s broke down (%v). Go on without it.", name, r)
		}
	}()
	if result, err = t.Call(ctx, arguments); err != nil {
		return "", err
	}
	if strings.ContainsRune(result, 0) { // as git tells binary files; other odd bytes are only cleaned
		return "", toolFault("the tool %s returned %d bytes that are no text. Go on without them.", name, len(result))
	}
	return result, nil
}

// shownResult is what the model is sent of a result of more bytes than the limit: its
// beginning and its end, with a word in between that says so.
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

// ToolOutcome is what a tool call came to, for people.
type ToolOutcome struct{ Arguments, Result string }

// ReadToolCall returns what a tool was called with, and its result as the model was
// sent it; empty for a call that has none.
func ReadToolCall(ctx context.Context, blobs Blobs, e machine.ToolCall, result kernel.Ref) (ToolOutcome, error) {
	var o ToolOutcome
	var err error
	if o.Arguments, err = Arguments(ctx, blobs, e); err != nil || result == (kernel.Ref{}) {
		return o, err
	}
	data, err := blobs.Get(ctx, result)
	o.Result = string(data)
	return o, err
}
