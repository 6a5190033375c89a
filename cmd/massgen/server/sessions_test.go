package server_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/setup/panels"
)

// gated is a model whose replies end when the gate is open. It asks for a tool first, if it has one.
type gated struct{ gate chan struct{} }

func (g gated) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if len(req.Tools) > 0 && req.Messages[len(req.Messages)-1].Role == backends.RoleUser {
			_ = yield(backends.ToolCall{ID: "1", Name: req.Tools[0].Name, Arguments: `{"path":"notes.txt","content":"it"}`}, nil) &&
				yield(backends.Finish{Reason: "tool_calls"}, nil)
			return
		}
		if !yield(backends.TextDelta{Text: "It "}, nil) {
			return
		}
		select {
		case <-g.gate:
			_ = yield(backends.TextDelta{Text: "depends."}, nil) && yield(backends.Finish{Reason: "stop"}, nil)
		case <-ctx.Done():
			yield(nil, &backends.Error{Kind: backends.KindCancelled, Message: "cancelled", Err: ctx.Err()})
		}
	}
}

// withGate adds a model, alone, whose panel is one gated agent.
func withGate(g gated) func(*server.Settings) {
	return func(s *server.Settings) {
		s.Models = append([]server.Model{{ID: "alone", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: g}}, massgen.WithStore(s.Store))
		}}}, s.Models...)
	}
}

// withToken has a server serve one user.
func withToken(s *server.Settings) {
	s.Access.Tokens = []server.Token{{Name: "ada", Secret: adasToken}}
}

// ask asks a question in a session and returns the result.
func (s served) ask(t *testing.T, session, model string) reply {
	t.Helper()
	r := s.send(t, http.MethodPost, "/sessions/"+url.PathEscape(session)+"/turns", `{"model":"`+model+`","question":"What is Go?"}`)
	if r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	return r
}

type listed struct {
	Sessions []struct{ ID, Title, State, Model string }
	Next     string
	Hits     []struct {
		Session, Title string
		Turn           int
		Updated        time.Time
	}
}

func TestSessionsAreListedInPages(t *testing.T) {
	s := serve(t, nil)
	ids := []string{"a/b", "Dan|fractional_1|role:cfo", "..x", "two words", "%2e%2e", "é?#"}
	for _, id := range ids {
		s.ask(t, id, "pair")
	}
	var got []string
	next := ""
	for {
		page := decode[listed](t, s.send(t, http.MethodGet, "/sessions?limit=4&before="+url.QueryEscape(next), "").body)
		for _, kept := range page.Sessions {
			got = append(got, kept.ID)
			if kept.State != "idle" || kept.Model != "pair" || kept.Title == "" {
				t.Errorf("a session is listed as %+v", kept)
			}
		}
		if next = page.Next; next == "" {
			break
		}
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("the pages have %q and not %q", got, ids)
	}
	found := decode[listed](t, s.send(t, http.MethodGet, "/sessions?q=go", "").body)
	if len(found.Hits) < len(ids) || found.Hits[0].Title == "" || found.Hits[0].Updated.IsZero() {
		t.Errorf("a search finds %+v", found.Hits)
	}
}

// TestSessionIsFoundByItsID whatever is in the id, and no id leads out of the store.
func TestSessionIsFoundByItsID(t *testing.T) {
	s := serve(t, withToken)
	for _, id := range []string{"a/b", "..x", "../../etc/passwd", "//", "a|b", " a", "%2F", "?x=1#é"} {
		s.ask(t, id, "pair")
		path := "/sessions/" + url.PathEscape(id)
		shown := decode[struct {
			ID    string
			Turns []struct{ Answer string }
		}](t, s.send(t, http.MethodGet, path, "").body)
		if shown.ID != id || len(shown.Turns) != 1 || shown.Turns[0].Answer == "" {
			t.Errorf("%q is shown as %+v", id, shown)
		}
		if r := s.send(t, http.MethodPatch, path, `{"title":"another"}`); r.status != http.StatusOK || !strings.Contains(r.body, `"title":"another"`) {
			t.Errorf("%q: renaming has status %d: %s", id, r.status, r.body)
		}
		if r := s.send(t, http.MethodDelete, path, ""); r.status != http.StatusNoContent {
			t.Errorf("%q: deleting has status %d: %s", id, r.status, r.body)
		}
		if r := s.send(t, http.MethodGet, path, ""); r.status != http.StatusNotFound {
			t.Errorf("%q: after its end it has status %d: %s", id, r.status, r.body)
		}
	}
	for _, path := range []string{"/sessions/%2e%2e", "/sessions/%2e", "/sessions/%00", "/sessions/%0a"} {
		if r := s.send(t, http.MethodGet, path, ""); r.status != http.StatusBadRequest {
			t.Errorf("%s has status %d: %s", path, r.status, r.body)
		}
	}
}

func TestBranchHasTheTurnsUpToOne(t *testing.T) {
	s := serve(t, nil)
	for range 3 {
		s.ask(t, "trunk", "pair")
	}
	r := s.send(t, http.MethodPost, "/sessions/trunk/branch", `{"turn":2,"id":"twig"}`)
	shown := decode[struct {
		Parent string
		Turns  []struct{ Number int }
	}](t, s.send(t, http.MethodGet, "/sessions/twig", "").body)
	if r.status != http.StatusCreated || shown.Parent != "trunk" || len(shown.Turns) != 2 {
		t.Errorf("status %d: %s; the branch is %+v", r.status, r.body, shown)
	}
	for body, status := range map[string]int{
		`{"turn":4}`: http.StatusBadRequest, `{"turn":0}`: http.StatusBadRequest, `{"turn":1,"id":".."}`: http.StatusBadRequest, `{"turn":1,"id":"twig"}`: http.StatusConflict,
	} {
		if r := s.send(t, http.MethodPost, "/sessions/trunk/branch", body); r.status != status {
			t.Errorf("%s has status %d: %s", body, r.status, r.body)
		}
	}
	result := s.send(t, http.MethodGet, "/sessions/twig/turns/1", "")
	if got := decode[massgen.Result](t, result.body); got.Answer == "" || got.Status != "completed" || got.Answers == nil {
		t.Errorf("the result of a branch's turn is %s", result.body)
	}
}

// event is one of a stream.
type event struct{ id, name, data string }

// events reads the events of a turn until one fits, or to the end.
func (s served) events(t *testing.T, path, last string, until func(event) bool) []event {
	t.Helper()
	return s.stream(t, path+"/events", last, until)
}

// stream reads the events of a stream until one fits, or to its end.
func (s served) stream(t *testing.T, path, last string, until func(event) bool) (list []event) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the events have status %d", response.StatusCode)
	}
	var e event
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e == (event{}) { // after a comment
				continue
			}
			list = append(list, e)
			if until != nil && until(e) {
				return list
			}
			e = event{}
		}
	}
	return list
}

// start asks a question in the background and returns the path of its turn.
func (s served) start(t *testing.T, session, model string) string {
	t.Helper()
	r := s.send(t, http.MethodPost, "/sessions/"+url.PathEscape(session)+"/turns", `{"model":"`+model+`","question":"What is Go?","background":true}`)
	if r.status != http.StatusAccepted {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	return r.header.Get("Location")
}

// TestEventsGoOnAfterABreak: a client that reconnects reads the same events as one that reads them at once, while the
// turn runs and when it is over.
func TestEventsGoOnAfterABreak(t *testing.T) {
	g := gated{make(chan struct{})}
	s := serve(t, withGate(g))
	path := s.start(t, "s", "alone")
	head := s.events(t, path, "", func(e event) bool { return strings.Contains(e.data, `"kind":"text"`) })
	first := head[len(head)-1]
	close(g.gate)
	rest := s.events(t, path, first.id, nil)
	if len(rest) == 0 || rest[len(rest)-1].name != "end" {
		t.Fatalf("after %s come %+v", first.id, rest)
	}
	if strings.Contains(rest[0].data, `"text":"It "`) {
		t.Errorf("an event comes twice: %+v", rest[0])
	}
	kept := s.events(t, path, "", nil)
	if live, later := journaled(slices.Concat(head, rest)), journaled(kept); !slices.Equal(live, later) || len(live) == 0 {
		t.Errorf("while it ran the turn had the events\n%s\nand later\n%s", strings.Join(live, "\n"), strings.Join(later, "\n"))
	}
	whole := slices.IndexFunc(kept, func(e event) bool { return e.id == "2" })
	// The server may forget the turn in between, and the events that are in no journal.
	resumed := s.events(t, path, "2", nil)
	if !slices.Equal(journaled(resumed), journaled(kept[whole+1:])) {
		t.Errorf("after 2 come\n%+v\nand not\n%+v", resumed, kept[whole+1:])
	}
	if kept[0].id != "1" || !strings.Contains(kept[len(kept)-2].data, `"kind":"ended"`) {
		t.Errorf("the events begin with %+v and end with %+v", kept[0], kept[len(kept)-2])
	}
	if r := s.send(t, http.MethodGet, "/sessions/s/turns/2/events", ""); r.status != http.StatusNotFound {
		t.Errorf("the events of a turn that is not there have status %d", r.status)
	}
}

// journaled are the ids and kinds of the events that follow from the journal.
func journaled(list []event) (ids []string) {
	for _, e := range list {
		if e.id != "" && !strings.Contains(e.id, ".") {
			_, kind, _ := strings.Cut(e.data, `"kind":"`)
			kind, _, _ = strings.Cut(kind, `"`)
			ids = append(ids, e.id+" "+kind)
		}
	}
	return ids
}

func TestRunningTurnIsPausedNotedAndCancelled(t *testing.T) {
	g := gated{make(chan struct{})}
	s := serve(t, withGate(g))
	path := s.start(t, "s", "alone")
	s.events(t, path, "", func(e event) bool { return strings.Contains(e.data, `"kind":"text"`) })
	if r := s.send(t, http.MethodGet, path, ""); decode[massgen.Result](t, r.body).Status != "running" {
		t.Errorf("the result of a running turn is %s", r.body)
	}
	if r := s.send(t, http.MethodGet, "/sessions/s", ""); !strings.Contains(r.body, `"state":"running"`) {
		t.Errorf("the session is %s", r.body)
	}
	for _, step := range []struct {
		action, body string
		status       int
	}{
		{"/pause", "", http.StatusNoContent},
		{"/notes", `{"text":"in winter"}`, http.StatusNoContent},
		{"/notes", `{"text":" "}`, http.StatusBadRequest},
		{"/resume", "", http.StatusNoContent},
		{"/cancel", "", http.StatusNoContent},
	} {
		if r := s.send(t, http.MethodPost, path+step.action, step.body); r.status != step.status {
			t.Errorf("%s %s has status %d: %s", step.action, step.body, r.status, r.body)
		}
	}
	events := s.events(t, path, "", nil)
	kinds := strings.Join(journaled(events), " ")
	for _, kind := range []string{"paused", "noted", "unpaused", "cancelled"} {
		if !strings.Contains(kinds, kind) {
			t.Errorf("the events lack %s: %s", kind, kinds)
		}
	}
	result := decode[massgen.Result](t, s.send(t, http.MethodGet, path, "").body)
	if result.Status != "interrupted" || len(result.Notes) != 1 {
		t.Errorf("the result is %+v", result)
	}
	for _, action := range []string{"/pause", "/resume", "/cancel"} {
		if r := s.send(t, http.MethodPost, path+action, ""); r.status != http.StatusConflict {
			t.Errorf("after the end %s has status %d", action, r.status)
		}
	}
}

// TestPermissionWaitsForAPerson has a person allow one call of a tool, and deny another.
func TestPermissionWaitsForAPerson(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "panel.yaml")
	text := "agents:\n  - id: ada\n    backend: {type: demo, cwd: " + dir + "/work}\npermissions:\n  rules:\n    - {action: ask, tool: write_file}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := gated{make(chan struct{})}
	close(g.gate)
	asked := &server.Permissions{}
	s := serve(t, func(s *server.Settings) {
		withToken(s)
		s.Permissions = asked
		s.Models = append(s.Models, server.Model{ID: "writer", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.Load(ctx, file, massgen.WithStore(s.Store), massgen.WithApproval(asked.Ask), func(p *panels.Settings) {
				p.Backends = []backends.Backend{onlyWrites{g}}
			})
		}})
	})
	for decision, state := range map[string]string{"allow": "ran", "deny": "denied"} {
		path := s.start(t, decision, "writer")
		list := s.events(t, path, "", func(e event) bool { return e.name == "permissions" && strings.Contains(e.data, "write_file") })
		told := list[len(list)-1]
		open := decode[struct {
			Permissions []struct{ ID, Agent, Tool, Arguments string }
		}](t, s.send(t, http.MethodGet, path+"/permissions", "").body)
		if len(open.Permissions) != 1 || open.Permissions[0].Tool != "write_file" || !strings.Contains(told.data, open.Permissions[0].ID) {
			t.Fatalf("%+v waits, and the events told of %+v", open, told)
		}
		for body, status := range map[string]int{`{"decision":"perhaps"}`: http.StatusBadRequest, `{"decision":"allow","id":"other"}`: http.StatusConflict} {
			if r := s.send(t, http.MethodPost, path+"/permissions", body); r.status != status {
				t.Errorf("%s has status %d: %s", body, r.status, r.body)
			}
		}
		if r := s.send(t, http.MethodPost, path+"/permissions", `{"decision":"`+decision+`","id":"`+open.Permissions[0].ID+`"}`); r.status != http.StatusOK {
			t.Errorf("the decision has status %d: %s", r.status, r.body)
		}
		s.events(t, path, "", nil)
		result := decode[massgen.Result](t, s.send(t, http.MethodGet, path, "").body)
		if len(result.ToolCalls) != 1 || string(result.ToolCalls[0].State) != state {
			t.Errorf("after %s the tool calls are %+v", decision, result.ToolCalls)
		}
	}
}

// onlyWrites is a model that knows one of its tools.
type onlyWrites struct{ gated }

func (o onlyWrites) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t backends.Tool) bool { return t.Name != "write_file" })
	return o.gated.Stream(ctx, req)
}

func TestInputsAndTheirDifferences(t *testing.T) {
	s := serve(t, nil)
	s.ask(t, "s", "pair")
	const path = "/sessions/s/turns/1/inputs"
	list := decode[struct {
		Inputs []struct {
			Number      int
			Name, Agent string
			Characters  struct{ System, User int }
		}
	}](t, s.send(t, http.MethodGet, path, "").body).Inputs
	second := slices.IndexFunc(list, func(c struct {
		Number      int
		Name, Agent string
		Characters  struct{ System, User int }
	}) bool {
		return c.Name == "turn-001/bob/call-002"
	})
	if second < 0 || list[second].Agent != "bob" || list[0].Characters.System != 389 || list[0].Characters.User == 0 {
		t.Fatalf("the inputs are %+v", list)
	}
	number := "/" + string(rune('0'+list[second].Number))
	call := decode[struct {
		Request struct{ Messages []struct{ Role string } }
	}](t, s.send(t, http.MethodGet, path+number, "").body)
	if len(call.Request.Messages) != 2 {
		t.Errorf("the input is %+v", call)
	}
	if text := s.send(t, http.MethodGet, path+number+"?as=text", "").body; !strings.Contains(text, "<ORIGINAL MESSAGE>") {
		t.Errorf("in words it is %s", text)
	}
	diff := decode[struct{ From, To, Diff string }](t, s.send(t, http.MethodGet, path+number+"/diff", "").body)
	if diff.From != "turn-001/bob/call-001" || diff.To != "turn-001/bob/call-002" || !strings.Contains(diff.Diff, "\n+ ") {
		t.Errorf("the difference is %+v", diff)
	}
	for _, missing := range []string{"/0", "/99", "/x", "/99/diff"} {
		if r := s.send(t, http.MethodGet, path+missing, ""); r.status != http.StatusNotFound {
			t.Errorf("%s has status %d", missing, r.status)
		}
	}
	if r := s.send(t, http.MethodGet, "/sessions/s/turns/1/timeline.svg", ""); !strings.Contains(r.body, "<svg") || r.header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the timeline is %s", r.body)
	}
}

// TestDebugShowsTheContext has what seed 002 looks for.
func TestDebugShowsTheContext(t *testing.T) {
	s := serve(t, nil)
	const id = "Dan|lostlondon_7|topic:tyburn"
	if _, err := s.store.AddFact(t.Context(), "7", "lives in London"); err != nil {
		t.Fatal(err)
	}
	r := s.send(t, http.MethodPost, "/sessions/"+url.PathEscape(id)+"/turns",
		`{"model":"pair","question":"What about it?","system":"CURRENT PAGE: /tyburn\nUSER: Dan\nPREVIOUS TOPIC: gallows"}`)
	if r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	got := decode[struct {
		ID       string
		Metadata map[string]string
		Current  struct{ Name string } `json:"current_topic"`
		Page     struct {
			CurrentPage string `json:"current_page"`
			User        string
		}
		Greeted     bool `json:"greeted_this_session"`
		ShouldGreet bool `json:"should_greet"`
		History     string
		Warning     string `json:"context_warning"`
		Facts       []struct{ Text string }
		Agents      []struct{ ID, History string }
	}](t, s.send(t, http.MethodGet, "/debug/session/"+url.PathEscape(id), "").body)
	switch {
	case got.ID != id, got.Metadata["user"] != "7", got.Current.Name != "gallows", got.Page.CurrentPage != "/tyburn", got.Page.User != "Dan",
		!got.Greeted, got.ShouldGreet, !strings.Contains(got.History, "What about it?"), got.Warning != "none",
		len(got.Facts) != 1 || got.Facts[0].Text != "lives in London", len(got.Agents) != 2 || got.Agents[0].History != got.History:
		t.Errorf("the session is %+v", got)
	}
	for key := range got.Metadata {
		if strings.HasPrefix(key, "massgen:") {
			t.Errorf("the metadata show the program's own %s", key)
		}
	}
}

func TestLostTurnIsFinished(t *testing.T) {
	g := gated{make(chan struct{})}
	from := serve(t, withGate(g))
	path := from.start(t, "s", "alone")
	from.events(t, path, "", func(e event) bool { return strings.Contains(e.data, `"kind":"text"`) })
	to := serve(t, withGate(g))
	copyInterrupted(t, from.store, to.store, "s")
	if r := to.send(t, http.MethodGet, "/sessions/s", ""); !strings.Contains(r.body, `"state":"interrupted"`) || !strings.Contains(r.body, `"unfinished":[{"agent":"ada"`) {
		t.Errorf("the session that was left is %s", r.body)
	}
	if list := to.events(t, "/sessions/s/turns/1", "", nil); list[len(list)-1].name != "end" {
		t.Errorf("the events of the turn that was left are %+v", list)
	}
	close(g.gate)
	r := to.send(t, http.MethodPost, "/sessions/s/continue", `{"model":"alone"}`)
	if got := decode[massgen.Result](t, r.body); r.status != http.StatusOK || got.Answer != "It depends." {
		t.Errorf("status %d: %s", r.status, r.body)
	}
	if r := to.send(t, http.MethodPost, "/sessions/s/continue", `{}`); r.status != http.StatusConflict {
		t.Errorf("a session without a lost turn has status %d: %s", r.status, r.body)
	}
}

// TestSessionsAreTheirUsers has two users, of whom neither learns of the other's sessions.
func TestSessionsAreTheirUsers(t *testing.T) {
	s := serve(t, ofTwo)
	const question = `{"model":"pair/ada","question":"What is Go?"}`
	if r := s.do(t, http.MethodPost, "/sessions/mine/turns", question, bearer(adasToken)); r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	for method, paths := range map[string][]string{
		http.MethodGet: {
			"/sessions/mine", "/debug/session/mine", "/sessions/mine/turns/1", "/sessions/mine/turns/1/events", "/sessions/mine/turns/1/state", "/sessions/mine/turns/1/inputs", "/sessions/mine%7Cmassgen_ada",
			"/sessions/mine/turns/1/timeline.svg", "/sessions/mine/turns/1/inputs/1", "/sessions/mine/turns/1/inputs/1/diff",
		},
		http.MethodDelete: {"/sessions/mine", "/sessions/mine%7Cmassgen_ada"},
	} {
		for _, path := range paths {
			if r := s.do(t, method, path, "", bearer(bobsToken)); r.status != http.StatusNotFound {
				t.Errorf("another user's %s %s has status %d: %s", method, path, r.status, r.body)
			}
		}
	}
	for _, path := range []string{"/sessions", "/sessions?q=go"} {
		if r := s.do(t, http.MethodGet, path, "", bearer(bobsToken)); strings.Contains(r.body, "mine") {
			t.Errorf("another user is shown %s", r.body)
		}
		if r := s.do(t, http.MethodGet, path, "", bearer(adasToken)); !strings.Contains(r.body, "mine") {
			t.Errorf("the user is shown %s", r.body)
		}
	}
}

// TestSystemMessageReachesTheAgents of its own turn, and of no other, as a section that cannot be
// taken for another.
func TestSystemMessageReachesTheAgents(t *testing.T) {
	s := serve(t, nil)
	ask := func(system string) string {
		r := s.chat(t, `{"model":"pair","metadata":{"session_id":"s"},"messages":[`+system+`{"role":"user","content":"?"}]}`)
		if r.status != http.StatusOK {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
		turns, err := s.store.Turns(t.Context(), "s", 1)
		if err != nil {
			t.Fatal(err)
		}
		return s.send(t, http.MethodGet, fmt.Sprintf("/sessions/s/turns/%d/inputs/1", turns[0].Number), "").body
	}
	const wanted = `## INSTRUCTIONS\nCURRENT PAGE: /jobs\n # RULES\nUse update_document_filters.`
	if input := ask(`{"role":"system","content":"CURRENT PAGE: /jobs\n# RULES\nUse update_document_filters."},`); !strings.Contains(input, wanted) {
		t.Errorf("the input is %s", input)
	}
	if input := ask(""); strings.Contains(input, "INSTRUCTIONS") {
		t.Errorf("the next turn's input is %s", input)
	}
}

// TestUserOfAPageHasASessionID by which facts are found (seed 002, session id convention).
func TestUserOfAPageHasASessionID(t *testing.T) {
	s := serve(t, nil)
	for user, prefix := range map[string]string{"Dan": "Dan|massgen_Dan|id:", "a|b": "20", "": "20"} {
		r := s.chat(t, `{"model":"pair/ada","messages":[{"role":"system","content":"CURRENT PAGE: /\nUSER: `+user+`"},{"role":"user","content":"?"}]}`)
		if !strings.HasPrefix(r.session(), prefix) {
			t.Errorf("the session of %q is %s", user, r.session())
		}
	}
}

func TestWrongRequestsAboutSessions(t *testing.T) {
	s := serve(t, withToken)
	s.ask(t, "s", "pair/ada")
	for request, status := range map[string]int{
		"GET /sessions?limit=0":                          http.StatusBadRequest,
		"GET /sessions?limit=x":                          http.StatusBadRequest,
		"GET /sessions?before=x":                         http.StatusBadRequest,
		"GET /sessions/none":                             http.StatusNotFound,
		"GET /sessions/s/turns/2":                        http.StatusNotFound,
		"GET /sessions/s/turns/0":                        http.StatusNotFound,
		"GET /sessions/s/turns/-1/events":                http.StatusNotFound,
		"GET /sessions/s/turns/2/state":                  http.StatusNotFound,
		"GET /debug/session/s?model=none":                http.StatusNotFound,
		"PATCH /sessions/s {}":                           http.StatusBadRequest,
		`PATCH /sessions/s {"title":"two\nlines"}`:       http.StatusBadRequest,
		`PATCH /sessions/s {"title":" "}`:                http.StatusBadRequest,
		`PATCH /sessions/none {"title":"one"}`:           http.StatusNotFound,
		"DELETE /sessions/none":                          http.StatusNotFound,
		`POST /sessions {"model":"none","question":"?"}`: http.StatusNotFound,
		`POST /sessions {"model":"pair","question":" "}`: http.StatusBadRequest,
		`POST /sessions {"model":"pair","question":"?","files":[{"filename":"a.png"}]}`:                                 http.StatusBadRequest,
		`POST /sessions {"model":"pair","question":"?","files":[{"filename":"a.png","file_data":"http://127.0.0.1/"}]}`: http.StatusBadRequest,
		`POST /sessions/none/continue {}`:                              http.StatusNotFound,
		`POST /sessions/s/turns/1/notes {"text":"late"}`:               http.StatusConflict,
		`POST /sessions/s/turns/1/permissions {"decision":"allow"}`:    http.StatusConflict,
		`POST /sessions/none/turns/1/permissions {"decision":"allow"}`: http.StatusConflict,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		if r := s.send(t, method, path, body); r.status != status || !strings.Contains(r.body, `"error":`) {
			t.Errorf("%s has status %d: %s", request, r.status, r.body)
		}
	}
	for _, last := range []string{"x", "1.x", "-1", "1.2.3"} {
		if r := s.do(t, http.MethodGet, "/sessions/s/turns/1/events", "", bearer(adasToken), "Last-Event-ID: "+last); r.status != http.StatusBadRequest {
			t.Errorf("after %s the events have status %d", last, r.status)
		}
	}
}
