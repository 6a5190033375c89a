package tasks

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
)

// planFile is the file of a plan in the agent's folder, as in MassGen.
const planFile = "tasks/plan.json"

// defaultMostTasks is MassGen's limit of a plan.
const defaultMostTasks = 10

// PlanTools returns the tools for the plan of an agent, which has at most so many tasks; 0 means 10. The plan is in
// the agent's folder. Without a folder it lasts as long as the tools. They are safe for concurrent use.
func PlanTools(agent, folder string, most int) ([]agents.Tool, error) {
	k := &keeper{agent: agent, folder: folder, most: cmp.Or(most, defaultMostTasks)}
	m := &maker{}
	add(m, "create_task_plan", `Creates a plan of tasks, which get_task_plan shows. A task may depend on earlier tasks of the list, by their ids or their indices from 0.`, k.create)
	add(m, "add_task", "Adds a task to the plan.", k.add)
	add(m, "update_task_status", "Sets the status of a task: pending, in_progress, completed, verified or blocked. completed says that it is done, verified that it was tested. The result names the tasks that are ready now.", k.update)
	add(m, "edit_task", "Changes the description of a task.", k.edit)
	add(m, "get_task_plan", "Shows the plan with all tasks and their status.", k.get)
	add(m, "delete_task", "Removes a task that no other depends on.", k.remove)
	add(m, "get_ready_tasks", "Lists the pending tasks whose dependencies are completed.", k.ready)
	add(m, "get_blocked_tasks", "Lists the pending tasks that wait for others, with the ids of those.", k.blocked)
	add(m, "clear_task_plan", "Removes the plan, to begin a new one.", k.clear)
	return m.tools, m.err
}

// The status of a task.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	verified   = "verified"
	isBlocked  = "blocked"
)

// task is a task in MassGen's file.
type task struct {
	ID           string         `json:"id"`
	Description  string         `json:"description"`
	Status       string         `json:"status"`
	Priority     string         `json:"priority"`
	CreatedAt    string         `json:"created_at"`
	CompletedAt  *string        `json:"completed_at"`
	VerifiedAt   *string        `json:"verified_at"`
	Dependencies []string       `json:"dependencies"`
	Metadata     map[string]any `json:"metadata"`
	Execution    map[string]any `json:"execution,omitempty"`
}

// plan is MassGen's file.
type plan struct {
	AgentID   string         `json:"agent_id"`
	Tasks     []*task        `json:"tasks"`
	CreatedAt string         `json:"created_at"`
	UpdatedAt string         `json:"updated_at"`
	Subagents map[string]any `json:"subagents"`
}

// keeper keeps the plan of an agent.
type keeper struct {
	agent, folder string
	most          int

	mu   sync.Mutex
	kept []byte // the plan's JSON where there is no folder, nil for none
}

func now() string { return time.Now().Format("2006-01-02T15:04:05.000000") }

// load returns the plan. An agent may have changed the file itself.
func (k *keeper) load() (*plan, error) {
	empty := &plan{AgentID: k.agent, CreatedAt: now(), UpdatedAt: now(), Tasks: []*task{}, Subagents: map[string]any{}}
	data, err := k.kept, error(nil)
	if k.folder != "" {
		data, err = readFile(k.folder, planFile)
	}
	if err != nil || data == nil {
		return empty, err
	}
	p := empty
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w: correct it, or call clear_task_plan", planFile, err)
	}
	for _, t := range p.Tasks {
		if t == nil || t.ID == "" {
			return nil, fmt.Errorf("%s has a task without an id: correct it, or call clear_task_plan", planFile)
		}
		if t.Status == "" {
			t.Status = pending
		}
		if t.Dependencies == nil {
			t.Dependencies = []string{}
		}
		if t.Metadata == nil {
			t.Metadata = map[string]any{}
		}
	}
	return p, nil
}

// change changes the plan, and writes it if do returns no error.
func (k *keeper) change(do func(*plan) (result, error)) (result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.load()
	if err != nil {
		return nil, err
	}
	r, err := do(p)
	if err != nil {
		return nil, err
	}
	p.UpdatedAt = now()
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	if k.folder == "" {
		k.kept = data
		return r, nil
	}
	return r, writeFile(k.folder, planFile, data)
}

// look reads the plan.
func (k *keeper) look(show func(*plan) result) (result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.load()
	if err != nil {
		return nil, err
	}
	return show(p), nil
}

// spec is a task as models describe it.
type spec struct {
	ID                 string         `json:"id,omitempty" jsonschema:"its id, made up if left out"`
	Description        string         `json:"description" jsonschema:"what is to be done"`
	Verification       string         `json:"verification,omitempty" jsonschema:"what success looks like"`
	VerificationMethod string         `json:"verification_method,omitempty" jsonschema:"how to verify it"`
	VerificationGroup  string         `json:"verification_group,omitempty" jsonschema:"the tasks that are verified together"`
	DependsOn          []any          `json:"depends_on,omitempty" jsonschema:"ids of tasks, or indices from 0 in this list, that come first"`
	Priority           string         `json:"priority,omitempty" jsonschema:"low, medium or high; medium if left out"`
	Execution          map[string]any `json:"execution,omitempty" jsonschema:"how it is done; {\"mode\": \"inline\"} if left out"`
	Metadata           map[string]any `json:"metadata,omitempty" jsonschema:"anything to be kept with it"`
}

type createArgs struct {
	Tasks []spec `json:"tasks" jsonschema:"the tasks, in their order"`
}

func (k *keeper) create(a createArgs) (result, error) {
	return k.change(func(p *plan) (result, error) {
		if len(p.Tasks) > 0 {
			return nil, fmt.Errorf("a plan with %d tasks exists already (%d completed): get_task_plan shows it, add_task adds to it, and clear_task_plan removes it", len(p.Tasks), count(p, completed)+count(p, verified))
		}
		for i := range a.Tasks {
			if a.Tasks[i].ID == "" {
				a.Tasks[i].ID = fmt.Sprintf("task_%d_%s", i, strings.ToLower(rand.Text()[:8]))
			}
		}
		for i, s := range a.Tasks {
			for j, on := range s.DependsOn {
				n, isNumber := on.(float64)
				if !isNumber {
					continue
				}
				if n != float64(int(n)) || n < 0 || int(n) >= i {
					return nil, fmt.Errorf("task %s: the index %v in depends_on names no earlier task", s.ID, n)
				}
				s.DependsOn[j] = a.Tasks[int(n)].ID
			}
			if _, err := k.append(p, s, ""); err != nil {
				return nil, err
			}
		}
		return result{"plan_id": p.AgentID, "tasks": p.Tasks, "summary": map[string]int{
			"total_tasks": len(p.Tasks), "ready_tasks": len(p.ready()), "blocked_tasks": len(p.blocked()),
		}}, nil
	})
}

// append adds a task to a plan, after another if that is not empty.
func (k *keeper) append(p *plan, s spec, after string) (*task, error) {
	if s.Priority == "" {
		s.Priority = "medium"
	}
	switch {
	case strings.TrimSpace(s.Description) == "":
		return nil, errors.New("a task has no description: say what is to be done")
	case len(p.Tasks) >= k.most:
		return nil, fmt.Errorf("a plan has at most %d tasks: join some, or delete_task one", k.most)
	case !slices.Contains([]string{"low", "medium", "high"}, s.Priority):
		return nil, fmt.Errorf("the priority %q is none: write low, medium or high", s.Priority)
	case p.find(s.ID) != nil:
		return nil, fmt.Errorf("there is a task %s already: take another id", s.ID)
	}
	t := &task{ID: s.ID, Description: s.Description, Status: pending, Priority: s.Priority, CreatedAt: now(), Dependencies: []string{}, Metadata: map[string]any{}}
	for _, on := range s.DependsOn {
		id, ok := on.(string)
		if !ok || p.find(id) == nil {
			return nil, fmt.Errorf("task %s depends on %v, which is no earlier task", s.ID, on)
		}
		t.Dependencies = append(t.Dependencies, id)
	}
	for name, value := range s.Metadata {
		t.Metadata[name] = value
	}
	for name, value := range map[string]string{"verification": s.Verification, "verification_method": s.VerificationMethod, "verification_group": s.VerificationGroup} {
		if value != "" {
			t.Metadata[name] = value
		}
	}
	t.Execution = s.Execution
	if t.Execution == nil {
		t.Execution = map[string]any{"mode": "inline"}
	}
	t.Metadata["execution"] = t.Execution
	at := len(p.Tasks)
	if after != "" {
		if at = slices.IndexFunc(p.Tasks, func(t *task) bool { return t.ID == after }) + 1; at == 0 {
			return nil, noTask(after)
		}
	}
	p.Tasks = slices.Insert(p.Tasks, at, t)
	return t, nil
}

type addArgs struct {
	Description        string         `json:"description" jsonschema:"what is to be done"`
	AfterTaskID        string         `json:"after_task_id,omitempty" jsonschema:"the task that it comes after; the last if left out"`
	DependsOn          []string       `json:"depends_on,omitempty" jsonschema:"ids of tasks that come first"`
	Priority           string         `json:"priority,omitempty" jsonschema:"low, medium or high; medium if left out"`
	Verification       string         `json:"verification,omitempty" jsonschema:"what success looks like"`
	VerificationMethod string         `json:"verification_method,omitempty" jsonschema:"how to verify it"`
	Execution          map[string]any `json:"execution,omitempty" jsonschema:"how it is done; {\"mode\": \"inline\"} if left out"`
}

func (k *keeper) add(a addArgs) (result, error) {
	return k.change(func(p *plan) (result, error) {
		s := spec{
			ID: "task_" + strings.ToLower(rand.Text()[:8]), Description: a.Description, Priority: a.Priority,
			Verification: a.Verification, VerificationMethod: a.VerificationMethod, Execution: a.Execution,
		}
		for _, id := range a.DependsOn {
			s.DependsOn = append(s.DependsOn, id)
		}
		t, err := k.append(p, s, a.AfterTaskID)
		return result{"task": t}, err
	})
}

type updateArgs struct {
	TaskID          string `json:"task_id" jsonschema:"the task's id"`
	Status          string `json:"status" jsonschema:"pending, in_progress, completed, verified or blocked"`
	CompletionNotes string `json:"completion_notes,omitempty" jsonschema:"how it was done, or what was tested"`
}

func (k *keeper) update(a updateArgs) (result, error) {
	return k.change(func(p *plan) (result, error) {
		all := []string{pending, inProgress, completed, verified, isBlocked}
		t := p.find(a.TaskID)
		switch {
		case !slices.Contains(all, a.Status):
			return nil, fmt.Errorf("the status %q is none: write %s", a.Status, strings.Join(all, ", "))
		case t == nil:
			return nil, noTask(a.TaskID)
		}
		before := p.ready()
		t.Status = a.Status
		r, at := result{"task": t}, now()
		switch a.Status {
		case completed:
			t.CompletedAt = &at
			if a.CompletionNotes != "" {
				t.Metadata["completion_notes"] = a.CompletionNotes
			}
			r["newly_ready_tasks"] = slices.DeleteFunc(p.ready(), func(t *task) bool { return slices.Contains(before, t) })
			if v, ok := t.Metadata["verification"]; ok {
				r["verification_pending"], r["verification"] = true, v
			}
		case verified:
			t.VerifiedAt = &at
			if a.CompletionNotes != "" {
				t.Metadata["verification_notes"] = a.CompletionNotes
			}
		}
		return r, nil
	})
}

type editArgs struct {
	TaskID      string `json:"task_id" jsonschema:"the task's id"`
	Description string `json:"description,omitempty" jsonschema:"its new description"`
}

func (k *keeper) edit(a editArgs) (result, error) {
	return k.change(func(p *plan) (result, error) {
		t := p.find(a.TaskID)
		if t == nil {
			return nil, noTask(a.TaskID)
		}
		if a.Description != "" {
			t.Description = a.Description
		}
		return result{"task": t}, nil
	})
}

type removeArgs struct {
	TaskID string `json:"task_id" jsonschema:"the task's id"`
}

func (k *keeper) remove(a removeArgs) (result, error) {
	return k.change(func(p *plan) (result, error) {
		if p.find(a.TaskID) == nil {
			return nil, noTask(a.TaskID)
		}
		for _, t := range p.Tasks {
			if slices.Contains(t.Dependencies, a.TaskID) {
				return nil, fmt.Errorf("task %s depends on %s: delete it first", t.ID, a.TaskID)
			}
		}
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t *task) bool { return t.ID == a.TaskID })
		return result{"deleted_task_id": a.TaskID}, nil
	})
}

func (k *keeper) clear(none) (result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.folder == "" {
		had := k.kept != nil
		k.kept = nil
		return result{"had_existing_plan": had}, nil
	}
	had, err := removeFile(k.folder, planFile)
	return result{"had_existing_plan": had}, err
}

func (k *keeper) get(none) (result, error) {
	return k.look(func(p *plan) result {
		return result{"plan": p, "summary": map[string]int{
			"total_tasks": len(p.Tasks), "completed_tasks": count(p, completed), "verified_tasks": count(p, verified),
			"in_progress_tasks": count(p, inProgress), "ready_tasks": len(p.ready()), "blocked_tasks": len(p.blocked()),
			"awaiting_verification": count(p, completed),
		}}
	})
}

func (k *keeper) ready(none) (result, error) {
	return k.look(func(p *plan) result { return result{"ready_tasks": p.ready(), "count": len(p.ready())} })
}

// waiting is a task with the tasks that it waits for.
type waiting struct {
	*task
	BlockingTaskIDs []string `json:"blocking_task_ids"`
}

func (k *keeper) blocked(none) (result, error) {
	return k.look(func(p *plan) result {
		list := []waiting{}
		for _, t := range p.blocked() {
			list = append(list, waiting{t, p.blocking(t)})
		}
		return result{"blocked_tasks": list, "count": len(list)}
	})
}

func noTask(id string) error {
	return fmt.Errorf("there is no task %s: get_task_plan shows the ids", id)
}

func count(p *plan, status string) (n int) {
	for _, t := range p.Tasks {
		if t.Status == status {
			n++
		}
	}
	return n
}

func (p *plan) find(id string) *task {
	for _, t := range p.Tasks {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// blocking returns the dependencies of a task that are not completed.
func (p *plan) blocking(t *task) (ids []string) {
	for _, id := range t.Dependencies {
		if on := p.find(id); on == nil || on.Status != completed && on.Status != verified {
			ids = append(ids, id)
		}
	}
	return ids
}

func (p *plan) ready() []*task {
	return p.pending(func(t *task) bool { return len(p.blocking(t)) == 0 })
}
func (p *plan) blocked() []*task {
	return p.pending(func(t *task) bool { return len(p.blocking(t)) > 0 })
}

func (p *plan) pending(is func(*task) bool) []*task {
	list := []*task{}
	for _, t := range p.Tasks {
		if t.Status == pending && is(t) {
			list = append(list, t)
		}
	}
	return list
}
