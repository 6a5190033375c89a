package server

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/massgen/massgen"
)

// permissionPatience is how long a tool call waits for a person. Nobody may be there.
const permissionPatience = 10 * time.Minute

// Permissions holds the questions about tool calls that wait for a person. The zero value is empty.
// It is safe for concurrent use.
type Permissions struct {
	mu      sync.Mutex
	open    []*permission
	changed chan struct{} // closed, and replaced, when open changes; nil while nobody waits for that
}

// permission is a tool call that waits for a person.
type permission struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Round     int       `json:"round"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	Why       string    `json:"why"`
	Asked     time.Time `json:"asked"`

	at     place
	answer chan massgen.Decision // has room for one
}

// Ask waits until a person has decided about a call, or nobody has for ten minutes, which is no.
// It is what a panel's approval takes (massgen.WithApproval).
func (p *Permissions) Ask(ctx context.Context, call massgen.ApprovalRequest) (massgen.Decision, error) {
	q := &permission{
		ID: rand.Text(), Agent: call.Agent, Round: call.Round, Tool: call.Tool, Arguments: call.Arguments, Why: call.Why,
		Asked: time.Now().UTC(), at: place{call.Session, call.Turn}, answer: make(chan massgen.Decision, 1),
	}
	p.change(func() { p.open = append(p.open, q) })
	defer p.change(func() { p.remove(q) })
	patience := time.NewTimer(permissionPatience)
	defer patience.Stop()
	select {
	case v := <-q.answer:
		return v, nil
	case <-patience.C:
		return massgen.Decision{Reason: "nobody has decided for ten minutes"}, nil
	case <-ctx.Done():
		return massgen.Decision{}, ctx.Err()
	}
}

func (p *Permissions) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

func (p *Permissions) remove(q *permission) {
	p.open = slices.DeleteFunc(p.open, func(o *permission) bool { return o == q })
}

// of returns the questions of a turn, and a channel that is closed when they may have changed.
func (p *Permissions) of(at place) (list []permission, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	list = []permission{}
	for _, q := range p.open {
		if q.at == at {
			list = append(list, *q)
		}
	}
	return list, p.changed
}

// settle answers a question of a turn, "" for its oldest. It reports whether the question was open.
func (p *Permissions) settle(at place, id string, v massgen.Decision) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.open {
		if q.at == at && (id == "" || q.ID == id) {
			p.remove(q)
			q.answer <- v
			return true
		}
	}
	return false
}

func (t turnRoutes) permissions(w http.ResponseWriter, _ *http.Request, at place) error {
	list, _ := t.asked.of(at)
	return t.respond.write(w, http.StatusOK, map[string]any{"permissions": list})
}

func (t turnRoutes) decide(w http.ResponseWriter, r *http.Request, at place) error {
	var said struct{ ID, Decision, Reason string }
	if err := readBody(r, &said); err != nil {
		return err
	}
	if said.Decision != "allow" && said.Decision != "deny" {
		return badRequest("decision", "decision is neither allow nor deny")
	}
	if !t.asked.settle(at, said.ID, massgen.Decision{Allowed: said.Decision == "allow", Reason: said.Reason}) {
		return refusal{status: http.StatusConflict, param: "id", code: "permission_settled", message: "no tool call waits for this decision any more"}
	}
	return t.permissions(w, r, at)
}
