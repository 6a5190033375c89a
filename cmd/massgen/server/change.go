package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// change is the difference between two states of a turn. Parts that are equal are left out.
type change struct {
	// Fields are the changed fields of the state, by their names in its JSON. A field is null if the state lacks it.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	// Agents are the agents that changed. An agent with an unknown id joins at the end.
	Agents    []agentChange               `json:"agents,omitempty"`
	Rounds    *tail[report.Round]         `json:"rounds,omitempty"`
	Acts      *tail[report.Act]           `json:"acts,omitempty"`
	Notes     *tail[report.StateNote]     `json:"notes,omitempty"`
	Sidecalls *tail[report.SidecallState] `json:"sidecalls,omitempty"`
	News      *tail[report.News]          `json:"news,omitempty"`
}

// agentChange is the difference between two states of an agent.
type agentChange struct {
	ID string `json:"id"`
	// Fields are as in change.
	Fields map[string]json.RawMessage `json:"fields,omitempty"`
	Text   *tail[report.Piece]        `json:"text,omitempty"`
}

// tail is the difference between two lists, which is at their ends.
type tail[T any] struct {
	// Drop counts the items that are gone from the beginning, Keep the items behind them that stay.
	Drop int `json:"drop,omitempty"`
	Keep int `json:"keep"`
	// Grow follows the text of the last item that stays.
	Grow string `json:"grow,omitempty"`
	// Add are the items that follow.
	Add []T `json:"add"`
}

// isEmpty reports whether the states are equal.
func (c change) isEmpty() bool {
	return len(c.Fields) == 0 && len(c.Agents) == 0 &&
		c.Rounds == nil && c.Acts == nil && c.Notes == nil && c.Sidecalls == nil && c.News == nil
}

// diff returns the difference between a state and a later state of the same turn.
func diff(before, after *report.State) (c change, err error) {
	if c.Fields, err = changed(fieldsOfState(before), fieldsOfState(after)); err != nil {
		return change{}, err
	}
	for i := range after.Agents {
		var was *report.AgentState
		if i < len(before.Agents) {
			was = &before.Agents[i]
		}
		of, err := diffAgent(was, &after.Agents[i])
		if err != nil {
			return change{}, err
		}
		if len(of.Fields) > 0 || of.Text != nil {
			c.Agents = append(c.Agents, of)
		}
	}
	c.Rounds = tailOf(before.Rounds, after.Rounds, 0, func(a, b report.Round) bool { return a == b })
	c.Acts = tailOf(before.Acts, after.Acts, 0, func(a, b report.Act) bool { return a == b })
	c.Notes = tailOf(before.Notes, after.Notes, 0, func(a, b report.StateNote) bool { return slices.Equal(a.SeenBy, b.SeenBy) })
	c.Sidecalls = tailOf(before.Sidecalls, after.Sidecalls, 0, func(a, b report.SidecallState) bool { return a == b })
	gone := 0
	if len(before.News) > 0 && len(after.News) > 0 {
		gone = after.News[0].Number - before.News[0].Number
	}
	c.News = tailOf(before.News, after.News, gone, func(a, b report.News) bool { return a.At.Equal(b.At) && a.Sentence == b.Sentence })
	return c, nil
}

// diffAgent returns the difference between an agent, nil if it is new, and its later state.
func diffAgent(before, after *report.AgentState) (c agentChange, err error) {
	c.ID = after.ID
	if before == nil {
		c.Fields, err = changed(nil, fieldsOfAgent(after))
		delete(c.Fields, "text")
		c.Text = &tail[report.Piece]{Add: after.Text}
		return c, err
	}
	if c.Fields, err = changed(fieldsOfAgent(before), fieldsOfAgent(after)); err != nil {
		return c, err
	}
	c.Text = tailOf(before.Text, after.Text, after.Dropped-before.Dropped, func(a, b report.Piece) bool { return a == b })
	if c.Text == nil || len(c.Text.Add) == 0 {
		return c, nil
	}
	if next := c.Text.Drop + c.Text.Keep; next < len(before.Text) {
		was, now := before.Text[next], c.Text.Add[0]
		grown, isLonger := strings.CutPrefix(now.Text, was.Text)
		if was.Text = now.Text; isLonger && was == now {
			c.Text.Keep, c.Text.Grow, c.Text.Add = c.Text.Keep+1, grown, c.Text.Add[1:]
		}
	}
	return c, nil
}

// fieldsOfState returns a state without its lists.
func fieldsOfState(s *report.State) report.State {
	fields := *s
	fields.Agents, fields.Rounds, fields.Acts, fields.Notes, fields.Sidecalls, fields.News = nil, nil, nil, nil, nil, nil
	return fields
}

// fieldsOfAgent returns an agent without its text.
func fieldsOfAgent(a *report.AgentState) report.AgentState {
	fields := *a
	fields.Text = nil
	return fields
}

// changed returns the fields of JSON objects that differ. A field that is gone is null. Lists that are nil in both
// are equal.
func changed(before, after any) (map[string]json.RawMessage, error) {
	var was, now map[string]json.RawMessage
	for _, of := range []struct {
		value  any
		fields *map[string]json.RawMessage
	}{{before, &was}, {after, &now}} {
		text, err := plain.JSON(of.value)
		if err == nil {
			err = json.Unmarshal(text, of.fields)
		}
		if err != nil {
			return nil, fmt.Errorf("compare two states: %w", err)
		}
	}
	fields := map[string]json.RawMessage{}
	for name, value := range now {
		if old, isThere := was[name]; !isThere || !bytes.Equal(old, value) {
			fields[name] = value
		}
	}
	for name := range was {
		if _, isThere := now[name]; !isThere {
			fields[name] = json.RawMessage("null")
		}
	}
	return fields, nil
}

// tailOf returns the difference between two states of a list, which has lost its first gone items in between. It returns
// nil if the states are equal.
func tailOf[T any](before, after []T, gone int, same func(a, b T) bool) *tail[T] {
	gone = min(gone, len(before))
	stay := before[gone:]
	keep := 0
	for keep < min(len(stay), len(after)) && same(stay[keep], after[keep]) {
		keep++
	}
	if gone == 0 && keep == len(before) && keep == len(after) {
		return nil
	}
	return &tail[T]{Drop: gone, Keep: keep, Add: after[keep:]}
}
