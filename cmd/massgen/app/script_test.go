package app_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/tools/workspace"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// The scripts run the program as a process of its own. It meets no model server
// but those of LOCAL_SERVERS ("ollama=URL"), leaves its exit status in the file
// STATUS, and fails if a goroutine outlives it.
func TestMain(m *testing.M) {
	massgen.Launcher()
	commands := map[string]func(){"massgen": runMassgen, "fakemcp": runFakeServer, "liarmcp": runLiar}
	endStrayTests(commands)
	leaks.Waiting()
	testscript.Main(m, commands)
}

func runMassgen() {
	env := app.System()
	env.LocalServers, env.Slack = map[string]string{}, time.Minute
	for _, s := range strings.Fields(os.Getenv("LOCAL_SERVERS")) {
		name, url, _ := strings.Cut(s, "=")
		env.LocalServers[name] = url
	}
	status := app.Main(append([]string{"massgen"}, os.Args[1:]...), env)
	signal.Ignore(syscall.SIGHUP) // a terminal that is closed sends it twice
	if err := leaks.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "LEAK:", err)
		status = 99
	}
	if err := os.WriteFile(os.Getenv("STATUS"), []byte(strconv.Itoa(status)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// scripts is the folder of the scripts.
const scripts = "testdata/script"

func TestScripts(t *testing.T) { runScripts(t, scripts) }

// TestAttacks runs what has once got past a promise (docs/security.md).
func TestAttacks(t *testing.T) { runScripts(t, filepath.FromSlash("../../../tests/attack")) }

func runScripts(t *testing.T, dir string) {
	// Under nohup the signal is ignored here, and so by all children, which have its default
	// when it is caught here.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("STATUS", filepath.Join(env.WorkDir, ".status"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=10") // the race detector lets a program end a second later
			env.Values[serversKey{}] = scriptServers{}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "fenced": // whether commands of agents can be
				ok, _ := workspace.CanFence()
				return ok, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus, "asked": cmdAsked, "onscreen": cmdOnscreen, "noted": cmdNoted, "fill": cmdFill, "server": cmdServer, "awaitcalls": cmdAwaitCalls,
			"calls": cmdCalls, "holds": cmdHolds, "journaled": cmdJournaled, "held": cmdHeld, "mcpserver": cmdMCPServer, "mostopen": cmdMostOpen, "samebodies": cmdSameBodies, "sent": cmdSent,
			"json": cmdJSON, "is": cmdIs, "line": cmdLine, "has": cmdHas, "picture": cmdPicture, "filesent": cmdFileSent, "golden": cmdGolden, "forge": cmdForge, "alter": cmdAlter,
		},
		RequireUniqueNames: true,
	})
}

// status N checks the exit status of the last massgen that ended.
func cmdStatus(ts *testscript.TestScript, _ bool, args []string) {
	got := ts.ReadFile(ts.Getenv("STATUS"))
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// fill FILE BYTES writes a file of so many letters.
func cmdFill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", n)), 0o600))
}

// scriptServer is a model server of a script.
type scriptServer struct {
	*backendtest.Server
	called chan struct{} // takes one for each call
}

type scriptServers map[string]scriptServer

func serverOf(ts *testscript.TestScript, name string) scriptServer {
	s, ok := ts.Value(serversKey{}).(scriptServers)[name]
	if !ok {
		ts.Fatalf("there is no server %s", name)
	}
	return s
}

type serversKey struct{}

// server NAME BEHAVIOUR [MODEL…] starts a model server, which lists the models,
// and puts its address into NAME_URL.
func cmdServer(ts *testscript.TestScript, _ bool, args []string) {
	behave, ok := behaviours()[args[1]]
	if !ok {
		ts.Fatalf("there is no behaviour %s", args[1])
	}
	s := scriptServer{called: make(chan struct{}, 1000)}
	s.Server = backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		s.called <- struct{}{}
		return behave(c)
	})
	ts.Defer(s.Close)
	s.SetModels(args[2:]...)
	ts.Setenv(args[0]+"_URL", s.BaseURL)
	ts.Value(serversKey{}).(scriptServers)[args[0]] = s
}

// awaitcalls NAME N waits until the server has received N more calls.
func cmdAwaitCalls(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	s := serverOf(ts, args[0])
	for range n {
		select {
		case <-s.called:
		case <-time.After(time.Minute):
			ts.Fatalf("server %s was not called", args[0])
		}
	}
}

// calls NAME N checks how many calls the server has received.
func cmdCalls(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(len(serverOf(ts, args[0]).Calls())); got != args[1] {
		ts.Fatalf("server %s received %s calls, want %s", args[0], got, args[1])
	}
}

// mostopen NAME N checks how many calls the server had to answer at one time.
func cmdMostOpen(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(serverOf(ts, args[0]).MaxOpen()); got != args[1] {
		ts.Fatalf("server %s had %s calls at a time, want %s", args[0], got, args[1])
	}
}

// samebodies NAME DIR checks that the dumped request bodies are, byte for byte,
// what the server received.
func cmdSameBodies(ts *testscript.TestScript, _ bool, args []string) {
	calls, err := debugbackend.LoadDir(ts.MkAbs(args[1]))
	ts.Check(err)
	received := map[string]int{}
	for _, body := range serverOf(ts, args[0]).Bodies() {
		received[string(body)]++
	}
	for _, c := range calls {
		if received[string(c.Body)]--; received[string(c.Body)] < 0 {
			ts.Fatalf("%s: the server did not receive the dumped body %s", c.Request.Key, c.Body)
		}
	}
	if len(calls) != len(serverOf(ts, args[0]).Bodies()) {
		ts.Fatalf("%d calls were dumped", len(calls))
	}
}

// sent DIRS TURN ROUND ROLE FILE… checks what the dumps, which commas part, say that
// every agent was sent in a round of a turn, or in all of its rounds (*): one message
// of the role, with the texts of the files one after the other, and without their last
// newline.
func cmdSent(ts *testscript.TestScript, _ bool, args []string) {
	turn, err := strconv.Atoi(args[1])
	ts.Check(err)
	var want strings.Builder
	for _, file := range args[4:] {
		want.WriteString(ts.ReadFile(file))
	}
	for dir := range strings.SplitSeq(args[0], ",") {
		calls, err := debugbackend.LoadDir(ts.MkAbs(dir))
		ts.Check(err)
		calls = slices.DeleteFunc(calls, func(c debugbackend.Call) bool {
			key := c.Request.Key
			return key.Turn != turn || args[2] != "*" && args[2] != strconv.Itoa(key.Round)
		})
		if len(calls) == 0 {
			ts.Fatalf("%s has no call of turn %d, round %s", dir, turn, args[2])
		}
		for _, c := range calls {
			if got := textsOf(c.Request.Messages, args[3]); len(got) != 1 || got[0]+"\n" != want.String() {
				ts.Fatalf("%s, %s was sent as %s\n%q\nwant\n%q", dir, c.Request.Key, args[3], got, want.String())
			}
		}
	}
}

func textsOf(messages []backends.Message, role string) []string {
	var texts []string
	for _, m := range messages {
		if string(m.Role) == role {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// document is an answer with all that Markdown has.
func document() string {
	text, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// behaviours are what a server of a script can do.
func behaviours() map[string]func(backendtest.Call) backendtest.Reply {
	hang := backendtest.Reply{Fault: backendtest.HangBefore}
	three := make(chan struct{})
	list := map[string]func(backendtest.Call) backendtest.Reply{
		"answers": answer,
		"asides":  sidecall,
		"reasons": reason,
		// It tells what each call took.
		"bills": func(c backendtest.Call) backendtest.Reply {
			r := answer(c)
			r.Usage = &backends.Usage{InputTokens: 400, OutputTokens: 100}
			return r
		},
		// An answer that would write over itself on a terminal, and turn its direction.
		"overwrites": func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "bad\rgood \u202eend"} },
		"documents":  func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: document()} },
		// It falls silent after its first words.
		"stops-short": func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "The first words of an answer", Fault: backendtest.HangMidStream}
		},
		"hangs":      func(backendtest.Call) backendtest.Reply { return hang },
		"breaks-off": breakOff,
		"hangs-first": func(c backendtest.Call) backendtest.Reply {
			if c.Number == 1 {
				return hang
			}
			return answer(c)
		},
		"answers-once": func(c backendtest.Call) backendtest.Reply {
			if c.Number > 1 {
				return hang
			}
			return answer(c)
		},
		// Agents that each have an answer of their own; that of agent2 is the best.
		"knows": func(c backendtest.Call) backendtest.Reply {
			if !isBlind(c) {
				return voteFor("agent2")
			}
			_, question, _ := strings.Cut(c.User(), "<ORIGINAL MESSAGE> ")
			question, _, _ = strings.Cut(question, " <END OF")
			return backendtest.Reply{ToolCalls: []backends.ToolCall{{
				ID: "a", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, "What the "+c.Model()+" knows of: "+question),
			}}}
		},
		// Three agents answer, and none gets to vote.
		"never-votes": func(c backendtest.Call) backendtest.Reply {
			if c.Number > 3 {
				return hang
			}
			return answer(c)
		},
		// Three agents, each of which votes for another.
		"disagrees": func(c backendtest.Call) backendtest.Reply {
			if c.Number > 3 {
				return voteFor(fmt.Sprintf("agent%d", c.Number-3))
			}
			return answer(c)
		},
		"takes-no-tools": func(c backendtest.Call) backendtest.Reply {
			if len(c.ToolNames()) > 0 {
				return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusBadRequest, Message: "m does not support tools"}}
			}
			return inJSON(c, answer)
		},
		"ignores-tools": func(c backendtest.Call) backendtest.Reply {
			if len(c.ToolNames()) > 0 {
				return backendtest.Reply{Text: "I would vote for the best."}
			}
			return inJSON(c, answer)
		},
		"takes-time": func(c backendtest.Call) backendtest.Reply {
			r := answer(c)
			r.Delay = 10 * time.Millisecond
			return r
		},
		// No call is answered before there are three.
		"answers-three": func(c backendtest.Call) backendtest.Reply {
			if c.Number == 3 {
				close(three)
			}
			select {
			case <-three:
			case <-time.After(time.Minute):
			}
			return answer(c)
		},
		// A model that was somehow told the key.
		"tells-key": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "The key is " + keyOf(c) + ", the header " + c.Header.Get("X-Auth-Token") + "."}
		},
	}
	for _, more := range []map[string]func(backendtest.Call) backendtest.Reply{
		refusals(), toolBehaviours(), mcpBehaviours(), customBehaviours(), schemaBehaviours(), strategyBehaviours(), votingBehaviours(),
	} {
		maps.Copy(list, more)
	}
	return list
}

// refusals are of services that answer with an error.
func refusals() map[string]func(backendtest.Call) backendtest.Reply {
	return map[string]func(backendtest.Call) backendtest.Reply{
		// A service that repeats the key in its message, as some do.
		"refuses": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{
				Status: http.StatusUnauthorized, Code: "invalid_api_key",
				Message: "Incorrect API key provided: " + keyOf(c),
			}}
		},
		// A proxy that refuses, and says what it was told.
		"proxy": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{
				Status: http.StatusProxyAuthRequired, Message: "no access with " + c.Header.Get("Proxy-Authorization"),
			}}
		},
		// One that repeats it in other spellings, and says so.
		"spells": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "The key is:\n" + strings.Join(spellings(keyOf(c)), "\n")}
		},
		"refuses-in-digits": func(c backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusUnauthorized, Message: fmt.Sprintf("no access with %x", keyOf(c))}}
		},
		"has-no-such-model": func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusNotFound, Message: "no such model"}}
		},
		"overloaded": func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 529, Message: "overloaded"}}
		},
		"repeats": func(c backendtest.Call) backendtest.Reply {
			texts := textsOf(c.Request().Messages, "user")
			return backendtest.Reply{Text: texts[len(texts)-1]}
		},
		"busy-for-a-minute": func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 429, Message: "slow down", Header: http.Header{"Retry-After": {"60"}}}}
		},
		"fails-once": func(c backendtest.Call) backendtest.Reply {
			if c.Number == 1 {
				return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusInternalServerError, Message: "out of order"}}
			}
			return answer(c)
		},
	}
}

// breakOff is a service that breaks off in the middle of what it says.
func breakOff(c backendtest.Call) backendtest.Reply {
	r := answer(c)
	if len(c.ToolNames()) == 0 {
		r.Text = "one\ntwo three four"
	}
	r.Fault = backendtest.CutStream
	return r
}

func keyOf(c backendtest.Call) string {
	return strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer ")
}

// spellings returns a key with the escapes of JSON, URLs and HTML, in base64 and in hexadecimal digits.
func spellings(key string) []string {
	each := func(form string) string {
		var b strings.Builder
		for _, c := range []byte(key) {
			fmt.Fprintf(&b, form, c)
		}
		return b.String()
	}
	return []string{
		strings.ReplaceAll(key, "/", `\/`), each(`\u%04x`), url.QueryEscape(key), each("%%%02x"), each("&#%d;"), each("&amp;#x%x;"),
		base64.RawStdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)), fmt.Sprintf("%x", key), fmt.Sprintf("%X", key),
	}
}

// inJSON is a reply in the form in which a model without tools is asked for it; one
// that is not asked for an act says what it would else.
func inJSON(c backendtest.Call, reply func(backendtest.Call) backendtest.Reply) backendtest.Reply {
	r := reply(c)
	if len(c.Request().Schema) == 0 || len(r.ToolCalls) == 0 {
		return r
	}
	act := r.ToolCalls[0]
	return backendtest.Reply{Text: `{"action":{"name":"` + act.Name + `",` + strings.TrimPrefix(act.Arguments, "{") + "}"}
}

// answer is text without coordination, else first an answer and then a vote.
func answer(c backendtest.Call) backendtest.Reply {
	switch {
	case len(c.ToolNames()) == 0 && len(c.Request().Schema) == 0:
		return backendtest.Reply{
			Text:  fmt.Sprintf("%s answers %q after %d messages.", c.Model(), c.User(), len(c.Messages())),
			Usage: &backends.Usage{InputTokens: 1200, OutputTokens: 34},
		}
	case isBlind(c):
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{
			ID: "a", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":"Answer number %d."}`, c.Number),
		}}}
	}
	return voteFor("agent2")
}

// reason is answer after much thought: most of the output is reasoning, and most of the input cached.
func reason(c backendtest.Call) backendtest.Reply {
	r := answer(c)
	r.Usage = &backends.Usage{InputTokens: 1200, OutputTokens: 34, CachedInputTokens: 1000, ReasoningTokens: 20}
	return r
}

// isBlind says whether the step has begun without any answer.
func isBlind(c backendtest.Call) bool {
	return slices.ContainsFunc(c.Messages(), func(m backends.Message) bool {
		return strings.Contains(m.Text(), "(no answers available yet)")
	})
}

func voteFor(agent string) backendtest.Reply {
	return backendtest.Reply{ToolCalls: []backends.ToolCall{{
		ID: "v", Name: "vote", Arguments: fmt.Sprintf(`{"agent_id":%q,"reason":"it is right"}`, agent),
	}}}
}
