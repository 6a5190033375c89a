package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// toolDefinition is a tool as a request describes it.
type toolDefinition struct {
	name, description string
	schema            json.RawMessage
}

// mostTools is how many tools a request may have.
const mostTools = 128

// clientTools returns the tools of a request, whose calls wait in calls.
func clientTools(list []toolDefinition, calls *clientCalls) ([]agents.Tool, error) {
	if len(list) > mostTools {
		return nil, badRequest("tools", fmt.Sprintf("tools: there are %d, and the most is %d", len(list), mostTools))
	}
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	var tools []agents.Tool
	for i, d := range list {
		place := fmt.Sprintf("tools[%d]", i)
		switch {
		case !valid.MatchString(d.name):
			return nil, badRequest(place, fmt.Sprintf("%s: the name %q is not made of 1 to 64 letters, digits, _ and -", place, shortened(d.name)))
		case d.name == effect.NewAnswer, d.name == effect.Vote:
			return nil, badRequest(place, fmt.Sprintf("%s: %s belongs to the panel's coordination: rename it", place, d.name))
		case calls.names[d.name]:
			return nil, badRequest(place, fmt.Sprintf("%s: a tool before it is named %s, too: rename one", place, d.name))
		case len(d.schema) == 0 || string(d.schema) == "null":
			d.schema = json.RawMessage(`{"type":"object","properties":{}}`)
		case d.schema[0] != '{':
			return nil, badRequest(place, place+": its parameters are no JSON Schema of an object")
		}
		calls.names[d.name] = true
		tools = append(tools, clientTool{backends.Tool{Name: d.name, Description: d.description, Schema: d.schema, Forwarded: true}, calls})
	}
	return tools, nil
}

// clientTool is a tool that the client of a request runs.
type clientTool struct {
	definition backends.Tool
	calls      *clientCalls
}

// Definition implements agents.Tool.
func (t clientTool) Definition() backends.Tool { return t.definition }

// Idempotent implements agents.Idempotent: a repeated call has the same id.
func (t clientTool) Idempotent() bool { return true }

// Call implements agents.Tool. It returns the client's result.
func (t clientTool) Call(ctx context.Context, arguments string) (string, error) {
	return t.calls.wait(ctx, agents.CallInfoOf(ctx), t.definition.Name, arguments)
}

// clientCalls are the calls of a turn that wait for its client, all of one message.
type clientCalls struct {
	names map[string]bool // of the client's tools; written before the turn begins

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, when a call has come
	open    []*clientCall
	begun   int
	// given are results that came before their call was made again, by id.
	given map[string]string
}

// clientCall is a call that waits for its client.
type clientCall struct {
	call toolCall
	info agents.CallInfo
	// isTold reports that the client knows of the call.
	isTold bool
	result chan string
}

func newClientCalls() *clientCalls {
	return &clientCalls{names: map[string]bool{}, changed: make(chan struct{}), given: map[string]string{}}
}

// wait returns the client's result of a call.
func (c *clientCalls) wait(ctx context.Context, info agents.CallInfo, name, arguments string) (string, error) {
	w := &clientCall{info: info, result: make(chan string, 1)}
	w.call.ID, w.call.Type, w.call.Function.Name, w.call.Function.Arguments = callID(info), "function", name, arguments
	c.mu.Lock()
	c.begun++
	if result, there := c.given[w.call.ID]; there {
		delete(c.given, w.call.ID)
		c.mu.Unlock()
		return result, nil
	}
	c.open = append(c.open, w)
	slices.SortFunc(c.open, func(a, b *clientCall) int { return cmp.Compare(a.info.Call, b.info.Call) })
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	select {
	case result := <-w.result:
		return result, nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open = slices.DeleteFunc(c.open, func(o *clientCall) bool { return o == w })
		return "", ctx.Err()
	}
}

// change is closed when another call has come.
func (c *clientCalls) change() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// take returns the calls for the client once all calls of their message are there, or at once if
// anyhow is true. begun is the number of all calls so far.
func (c *clientCalls) take(anyhow bool) (calls []toolCall, begun int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		return nil, c.begun
	}
	of := 0
	for _, name := range c.open[0].info.Message {
		if c.names[name] {
			of++
		}
	}
	if len(c.open) < of && !anyhow {
		return nil, c.begun
	}
	for _, w := range c.open {
		calls = append(calls, w.call)
	}
	return calls, c.begun
}

// tell records that the client knows of all calls that wait.
func (c *clientCalls) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.open {
		w.isTold = true
	}
}

// check refuses results, by id, that lack the result of a call that the client knows of.
func (c *clientCalls) check(results map[string]string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.open {
		if _, there := results[w.call.ID]; w.isTold && !there {
			return badRequest("messages", fmt.Sprintf("messages: the result of the call %s of %s is missing", w.call.ID, w.call.Function.Name))
		}
	}
	return nil
}

// answer passes on the results of calls, by id.
func (c *clientCalls) answer(results map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, result := range results {
		at := slices.IndexFunc(c.open, func(w *clientCall) bool { return w.call.ID == id })
		if at < 0 {
			c.given[id] = result
			continue
		}
		c.open[at].result <- result
		c.open = slices.Delete(c.open, at, at+1)
	}
}

// callPrefix begins the ids of calls.
const callPrefix = "call_"

// callID returns the id of a call. It names the turn, so that the result of the call finds its turn
// even after the server has restarted.
func callID(info agents.CallInfo) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d %v %d", info.Session, info.Turn, info.Agent, info.Round, info.Final, info.Call))
	return callPrefix + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%x.%d.%s", sum[:4], info.Turn, info.Session))
}

// turnOfCall returns the turn that the id of a call names.
func turnOfCall(id string) (at place, ok bool) {
	encoded, ok := strings.CutPrefix(id, callPrefix)
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	_, rest, isWhole := strings.Cut(string(data), ".")
	number, session, hasSession := strings.Cut(rest, ".")
	turn, numberErr := strconv.Atoi(number)
	return place{session, turn}, ok && err == nil && isWhole && hasSession && numberErr == nil
}
