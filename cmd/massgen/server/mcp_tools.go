package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// told returns the error for the client, in one line.
func (m *mcpServer) told(err error) error {
	r := m.respond.refusalOf(err)
	m.respond.countAway(r)
	return errors.New(m.respond.redact(plain.Line(r.message)))
}

type askInput struct {
	Question string `json:"question" jsonschema:"the question, with all that the panel needs to know to answer it"`
	Panel    string `json:"panel,omitempty" jsonschema:"the name of a panel, as list_panels has it; the first of them if it is left out"`
	Preset   string `json:"preset,omitempty" jsonschema:"how the panel decides: one of its presets, as list_panels has them; as its config says if it is left out"`
	Session  string `json:"session,omitempty" jsonschema:"the id of the session to go on with; a new session begins if it is left out"`
}

type askOutput struct {
	Answer  string        `json:"answer" jsonschema:"the winning answer"`
	Status  kernel.Status `json:"status" jsonschema:"completed if the panel agreed; else why it ended: no_consensus, timeout, budget, max_turns or interrupted"`
	Winner  string        `json:"winner" jsonschema:"the agent whose answer won"`
	Votes   []voteOutput  `json:"votes" jsonschema:"the votes that counted at the end"`
	Session string        `json:"session" jsonschema:"the id of the session, for the next question"`
	Panel   string        `json:"panel" jsonschema:"the panel that was asked"`
	// Strategy, Saved and Analysis are left out for a panel that decides by its votes alone.
	Strategy string                 `json:"strategy,omitempty" jsonschema:"how the panel decided"`
	Saved    string                 `json:"saved,omitempty" jsonschema:"the part of a cascade that was not needed"`
	Analysis *contextbuild.Analysis `json:"analysis,omitempty" jsonschema:"what the judge found in the answers, which it names by their labels, such as ada.1; found is false for a quotation that is not in its answer"`

	why string // why the winner won without votes, "" if votes decided
}

type voteOutput struct {
	Voter  string `json:"voter"`
	For    string `json:"for"`
	Reason string `json:"reason"`
}

func (m *mcpServer) askPanel(ctx context.Context, call *mcp.CallToolRequest, in askInput) (*mcp.CallToolResult, askOutput, error) {
	ctx, release := m.requests.bind(ctx, call)
	defer release()
	asked, err := m.asked(ctx, in)
	if err != nil {
		return nil, askOutput{}, m.told(err)
	}
	run, view, err := m.turns.start(ctx, asked)
	if err != nil {
		return nil, askOutput{}, m.told(err)
	}
	view.hasLines = true
	ended := context.WithoutCancel(ctx) // a cancelled call ends the turn, and waits for its end
	p := m.openProgress(ctx, call)
	returnBody(ctx)
	for piece := range m.respond.pieces(ended, run, view) {
		p.tell(piece)
	}
	p.keeper.close()
	o := run.wait(ended)
	if o.err != nil {
		return nil, askOutput{}, m.told(o.err)
	}
	out := m.output(run, o.Result)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.text(len(o.Agents))}}}, out, nil
}

// asked returns the request that a call makes.
func (m *mcpServer) asked(ctx context.Context, in askInput) (request, error) {
	if in.Panel == "" {
		in.Panel = m.turns.models.list[0].ID
	}
	if m.turns.models.byID[in.Panel] == nil {
		return request{}, badRequest("panel", m.turns.models.missing("panel", in.Panel, "list_panels"))
	}
	if in.Preset != "" {
		with := in.Panel + ":" + in.Preset
		if m.turns.models.byID[with] == nil {
			return request{}, badRequest("preset", m.turns.models.missing("preset", with, "list_panels"))
		}
		in.Panel = with
	}
	if err := coordinator.CheckQuestion(in.Question); err != nil {
		return request{}, badRequest("question", "question: "+err.Error())
	}
	if in.Session != "" {
		var err error
		if in.Session, err = m.known(ctx, in.Session); err != nil {
			return request{}, err
		}
	}
	return request{model: in.Panel, session: in.Session, messages: []message{{role: roleUser, text: in.Question}}}, nil
}

// known returns the id in the store of an existing session. Models invent ids.
func (m *mcpServer) known(ctx context.Context, id string) (string, error) {
	if err := sessions.CheckID(id); err != nil {
		return "", badRequest("session", "session: "+err.Error())
	}
	stored, err := sessionID(ctx, id)
	if err == nil {
		_, err = m.turns.store.Session(ctx, stored)
	}
	if errors.Is(err, sessions.ErrNoSession) {
		err = badRequest("session", fmt.Sprintf("session: there is no %q: leave it out to begin one", shortened(id)))
	}
	return stored, err
}

func (m *mcpServer) output(run *run, r massgen.Result) askOutput {
	out := askOutput{
		Answer: m.respond.redact(r.Answer), Status: r.Status, Winner: r.Winner, Votes: []voteOutput{}, Session: run.turn.Session(), Panel: run.model,
	}
	if d := r.Decision; d != nil {
		out.Strategy, out.Saved, out.why = d.Strategy, d.Saved, d.Reason()
		if d.Analysis != nil {
			out.Analysis = new(d.Analysis.Rewritten(m.respond.redact))
		}
	}
	for _, v := range r.Votes {
		out.Votes = append(out.Votes, voteOutput{v.Voter, v.For, m.respond.redact(v.Reason)})
	}
	return out
}

// text returns the answer for a client without structured output. Its model finds the session's id in
// it.
func (o askOutput) text(agents int) string {
	votes := 0
	for _, v := range o.Votes {
		if v.For == o.Winner {
			votes++
		}
	}
	why := o.why
	if why == "" {
		why = fmt.Sprintf("with %d of %d votes", votes, agents)
	}
	text := o.Answer
	if lines := (findings.Writer{}).Lines(o.Analysis); lines != nil {
		text += "\n\n" + strings.Join(lines, "\n")
	}
	return fmt.Sprintf("%s\n\n(%s; winner: %s, %s; session: %s)", text, o.Status, o.Winner, why, o.Session)
}

type panelsOutput struct {
	Panels []panelOutput `json:"panels"`
}

type panelOutput struct {
	Name   string   `json:"name"`
	Agents []string `json:"agents"`
	// Presets are left out for one agent.
	Presets []string `json:"presets,omitempty" jsonschema:"the ways in which the panel can decide, for ask_panel"`
}

func (m *mcpServer) listPanels(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, panelsOutput, error) {
	out := panelsOutput{Panels: []panelOutput{}}
	for _, model := range m.turns.models.list {
		if model.Preset != "" {
			last := &out.Panels[len(out.Panels)-1]
			last.Presets = append(last.Presets, model.Preset)
			continue
		}
		out.Panels = append(out.Panels, panelOutput{Name: model.ID, Agents: append([]string{}, model.Agents...)})
	}
	return nil, out, nil
}

type sessionInput struct {
	Session string `json:"session" jsonschema:"the id of the session"`
	Last    int    `json:"last,omitempty" jsonschema:"how many of the last turns to return, from 1 to 100; 10 if it is left out"`
}

type sessionOutput struct {
	Session string       `json:"session"`
	Title   string       `json:"title"`
	Count   int          `json:"turn_count" jsonschema:"how many turns the session has"`
	Turns   []turnOutput `json:"turns" jsonschema:"the last turns, oldest first"`
}

type turnOutput struct {
	Number   int           `json:"number"`
	Question string        `json:"question"`
	Answer   string        `json:"answer" jsonschema:"the winning answer, empty if there is none"`
	Winner   string        `json:"winner"`
	Status   kernel.Status `json:"status" jsonschema:"as of ask_panel, or running"`
	Started  time.Time     `json:"started"`
}

// The turns that get_session returns.
const (
	usualTurns = 10
	mostTurns  = 100
)

func (m *mcpServer) getSession(ctx context.Context, call *mcp.CallToolRequest, in sessionInput) (*mcp.CallToolResult, sessionOutput, error) {
	ctx, release := m.requests.bind(ctx, call)
	defer release()
	if in.Last == 0 {
		in.Last = usualTurns
	}
	if in.Last < 1 || in.Last > mostTurns {
		return nil, sessionOutput{}, m.told(badRequest("last", fmt.Sprintf("last: %d is not from 1 to %d", in.Last, mostTurns)))
	}
	id, err := m.known(ctx, in.Session)
	if err != nil {
		return nil, sessionOutput{}, m.told(err)
	}
	kept, err := m.turns.store.Session(ctx, id)
	if err != nil {
		return nil, sessionOutput{}, m.told(err)
	}
	turns, err := m.turns.store.Turns(ctx, id, in.Last)
	if err != nil {
		return nil, sessionOutput{}, m.told(err)
	}
	out := sessionOutput{Session: kept.ID, Title: m.respond.redact(kept.Title), Count: kept.Turns, Turns: make([]turnOutput, len(turns))}
	for i, t := range turns {
		out.Turns[i] = turnOutput{t.Number, m.respond.redact(t.Question), m.respond.redact(t.Answer), t.Winner, t.Status, t.Started}
	}
	return nil, out, nil
}
