package workspace

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

//go:embed tools.json
var toolsJSON []byte

// tool is one tool of a workspace, with the type of its arguments.
type tool[A any] struct {
	workspace  *Workspace
	definition backends.Tool
	required   []string
	run        func(*view, context.Context, A) (any, error)
}

// newTool joins a definition of tools.json with the function that runs it. The function's result is
// encoded as JSON.
func newTool[A any](w *Workspace, name string, run func(*view, context.Context, A) (any, error)) *tool[A] {
	t := &tool[A]{workspace: w, run: run}
	var definitions []backends.Tool
	if err := json.Unmarshal(toolsJSON, &definitions); err != nil {
		panic(fmt.Sprintf("tools.json: %v", err)) // it is a part of the program
	}
	for _, d := range definitions {
		if d.Name == name {
			t.definition = d
		}
	}
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(t.definition.Schema, &schema); err != nil {
		panic(fmt.Sprintf("tools.json: %s: %v", name, err))
	}
	t.required = schema.Required
	return t
}

// Definition returns the definition that models get.
func (t *tool[A]) Definition() backends.Tool { return t.definition }

// Call runs the tool. Its text is a JSON object, and so is the text of its error, an
// agents.ErrorResult.
func (t *tool[A]) Call(ctx context.Context, arguments string) (string, error) {
	args, err := t.decode(arguments)
	if err != nil {
		return failed(err)
	}
	v := t.workspace.viewOf(agents.CallInfoOf(ctx))
	result, err := t.run(v, ctx, args)
	if err = errors.Join(err, v.close()); err != nil {
		return failed(err)
	}
	text, err := encode(result)
	if f, ok := result.(fallible); ok && f.failed() && err == nil {
		return text, agents.ErrorResult(text)
	}
	return text, err
}

// fallible is implemented by results that may be failures.
type fallible interface{ failed() bool }

// changer is implemented by arguments of tools that change files, perhaps outside of the workspace.
type changer interface {
	changesWorld(w *Workspace) bool
}

// Idempotent reports whether the tool only reads.
func (t *tool[A]) Idempotent() bool {
	_, changes := any(*new(A)).(changer)
	return !changes
}

// OnFiles reports whether a call may change files of the workspace (agents.Doer.OnFiles).
func (t *tool[A]) OnFiles() (touches, changes bool) { return true, !t.Idempotent() }

// ChangesWorld reports whether a call with these arguments changes more than the agent's own
// folder.
func (t *tool[A]) ChangesWorld(arguments string) bool {
	args, err := t.decode(arguments)
	if err != nil {
		return false // such a call does nothing
	}
	c, ok := any(args).(changer)
	return ok && c.changesWorld(t.workspace)
}

func (t *tool[A]) decode(arguments string) (args A, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		return args, fmt.Errorf("the arguments of %s are no JSON object: %w", t.definition.Name, err)
	}
	for _, name := range t.required {
		if _, ok := given[name]; !ok {
			return args, fmt.Errorf("the arguments of %s lack %q", t.definition.Name, name)
		}
	}
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.DisallowUnknownFields()
	if err := d.Decode(&args); err != nil {
		return args, fmt.Errorf("the arguments of %s are not as its schema has them: %w", t.definition.Name, err)
	}
	return args, nil
}

// done begins the result of a tool that succeeded.
type done struct {
	Success bool   `json:"success"`
	Path    string `json:"path"`
}

func failed(err error) (string, error) {
	text, encoding := encode(struct {
		Success bool   `json:"success"`
		Error   string `json:"error"`
	}{Error: err.Error()})
	if encoding != nil {
		return "", errors.Join(err, encoding)
	}
	return text, agents.ErrorResult(text)
}

func encode(result any) (string, error) {
	text, err := plain.JSON(result)
	if err != nil {
		return "", fmt.Errorf("encode the result: %w", err)
	}
	return string(text), nil
}
