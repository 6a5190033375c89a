package tasks

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/system/plain"
)

// ownTool is a tool that changes no more than the agent's own folder.
type ownTool struct{ agents.Tool }

// ChangesWorld returns false: the agent's folder is not the world.
func (ownTool) ChangesWorld(string) bool { return false }

// OnFiles returns true: a call may change files of the agent's folder (agents.Doer.OnFiles).
func (ownTool) OnFiles() (touches, changes bool) { return true, true }

// maker makes tools, and keeps the first error.
type maker struct {
	tools []agents.Tool
	err   error
}

// result is the result of a tool, as MassGen writes it.
type result map[string]any

// add adds a tool. An error of run becomes MassGen's form of one.
func add[A any](m *maker, name, description string, run func(A) (result, error)) {
	tool, err := agents.NewTool(name, description, func(_ context.Context, args A) (string, error) {
		r, err := run(args)
		if err != nil {
			r = result{"error": err.Error()}
		}
		r["success"], r["operation"] = err == nil, name
		text, encoding := plain.JSON(r)
		if encoding != nil {
			return "", fmt.Errorf("encode the result: %w", encoding)
		}
		if err != nil {
			return string(text), agents.ErrorResult(text)
		}
		return string(text), nil
	})
	m.tools, m.err = append(m.tools, ownTool{tool}), errors.Join(m.err, err)
}

// none are no arguments.
type none struct{}
