package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// seen is a world whose workers and server show their figures.
type seen struct {
	*world
	service *service
	workers []*process
	shown   []string // the addresses of the workers' figures
	server  *served
}

// watched starts workers and a server of a config, which log JSON, and begins a turn in the session s.
func (w *world) watched(s *service, workers int, lines ...string) *seen {
	w.t.Helper()
	x := w.idle(s, workers, lines...)
	x.begin()
	return x
}

// idle starts workers and a server of a config, which log JSON.
func (w *world) idle(s *service, workers int, lines ...string) *seen {
	w.t.Helper()
	x := &seen{world: w, service: s}
	config := w.config(lines...)
	for i := range workers {
		at, err := freeAddress()
		ok(w.t, err)
		name := "worker" + string(rune('1'+i))
		state := filepath.Join(w.dir, name, ".local", "state", "massgen") // where snapshots are kept
		ok(w.t, os.MkdirAll(state, 0o700))
		w.flags = []string{"--metrics-listen", at, "--log-format", "json"}
		x.workers, x.shown = append(x.workers, w.worker(name, config)), append(x.shown, "http://"+at)
	}
	at, err := freeAddress()
	ok(w.t, err)
	x.server = &served{process: w.start("server", append([]string{"serve", "--listen", at, "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--log-format", "json"}, w.serving...)...), world: w, url: "http://" + at}
	x.readies(x.server.url, http.StatusOK, "")
	return x
}

// begin begins a turn in the session s.
func (x *seen) begin() {
	q := asks("s", "energy?")
	q.Stream = true
	go func() {
		if body, err := x.server.post(x.t.Context(), q); err == nil {
			_, _ = io.Copy(io.Discard, body) // what it says is another test's
			_ = body.Close()
		}
	}()
}

// get returns a page, and an empty one while nobody answers.
func get(url string) (status int, text string) {
	response, err := http.Get(url)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(data)
}

// readies waits until /readyz has a status, and a text.
func (x *seen) readies(at string, want int, text string) {
	x.t.Helper()
	x.until(at+"/readyz: "+text, func() bool {
		status, said := get(at + "/readyz")
		return status == want && strings.Contains(said, text)
	})
}

// measures waits until a figure is there.
func (x *seen) measures(at, pattern string) {
	x.t.Helper()
	is := regexp.MustCompile(`(?m)^` + pattern + `$`)
	x.until(pattern, func() bool {
		_, text := get(at + "/metrics")
		return is.MatchString(text)
	})
}

// state waits until the list of sessions has the session s in a state.
func (x *seen) state(want string) {
	x.t.Helper()
	x.until("the session is "+want, func() bool {
		_, text := get(x.server.url + "/sessions")
		var list struct{ Sessions []struct{ ID, State string } }
		return json.Unmarshal([]byte(text), &list) == nil && len(list.Sessions) == 1 && list.Sessions[0].State == want
	})
}

// said ends a process, and checks that each line is there once.
func (x *seen) said(p *process, lines ...string) {
	x.t.Helper()
	p.kill()
	log := p.stderr.String()
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		if !json.Valid([]byte(line)) {
			x.t.Errorf("no JSON: %s", line)
		}
	}
	for _, want := range lines {
		if n := len(regexp.MustCompile(want).FindAllString(log, -1)); n != 1 {
			x.t.Errorf("%d times %s in\n%s", n, want, log)
		}
	}
}

// heldAgreement is a service that holds the call of agent3, so that the turn waits.
func heldAgreement(t *testing.T) *service {
	s := newService(t, agreeable)
	s.held = func(c backendtest.Call) bool { return c.Model() == "agent3" && isBlind(c) }
	return s
}

// TestFailuresAreSeen: each failure has its line in the log, its figure, its readiness, and its entry in the list of
// the page.
func TestFailuresAreSeen(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(*testing.T){
		"the database is away":     seeDatabaseAway,
		"Temporal is away":         seeTemporalAway,
		"the disk is full":         seeDiskFull,
		"all keys are refused":     seeKeysRefused,
		"a worker is killed":       seeWorkerKilled,
		"a workflow is terminated": seeWorkflowTerminated,
		"a limit is reached":       seeLimitReached,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

func seeDatabaseAway(t *testing.T) {
	w := newWorld(t)
	way := w.wired()
	s := heldAgreement(t)
	x := w.watched(s, 1, s.agents(3)...)
	x.state("running")
	way.cut()
	for _, at := range []string{x.shown[0], x.server.url} {
		x.readies(at, http.StatusServiceUnavailable, "the database is away\n")
		x.measures(at, `massgen_ready\{part="database"\} 0`)
	}
	if status, _ := get(x.server.url + "/sessions"); status < 500 {
		t.Errorf("the list has status %d", status)
	}
	ok(t, way.mend())
	for _, at := range []string{x.shown[0], x.server.url} {
		x.readies(at, http.StatusOK, "")
		x.measures(at, `massgen_ready\{part="database"\} 1`)
	}
	s.free()
	x.state("idle")
	for _, p := range []*process{x.workers[0], x.server.process} {
		x.said(p, `"msg":"the database is away","part":"database","error":"[^"]*dial error[^"]*`, `"msg":"the database is back","part":"database","away":`)
	}
}

func seeTemporalAway(t *testing.T) {
	w := newWorldAlone(t)
	s := heldAgreement(t)
	x := w.watched(s, 1, s.agents(3)...)
	x.state("running")
	w.server.kill()
	for _, at := range []string{x.shown[0], x.server.url} {
		x.readies(at, http.StatusServiceUnavailable, "Temporal is away\n")
		x.measures(at, `massgen_ready\{part="temporal"\} 0`)
	}
	x.state("running")
	ok(t, w.server.start())
	for _, at := range []string{x.shown[0], x.server.url} {
		x.readies(at, http.StatusOK, "")
		x.measures(at, `massgen_ready\{part="temporal"\} 1`)
	}
	s.free()
	x.state("idle")
	for _, p := range []*process{x.workers[0], x.server.process} {
		x.said(p, `"level":"ERROR","msg":"Temporal is away","part":"temporal"`, `"msg":"Temporal is back","part":"temporal","away":`)
	}
}

// seeDiskFull fills the disk of the worker's state folder: a small one that root may mount. Without root the
// worker's files may grow no more.
func seeDiskFull(t *testing.T) {
	w := newWorld(t)
	s := heldAgreement(t)
	fill, empty := w.smallDisk("worker1")
	x := w.watched(s, 1, s.agents(3)...)
	x.readies(x.shown[0], http.StatusOK, "")
	fill(x.workers[0])
	x.readies(x.shown[0], http.StatusServiceUnavailable, "the disk takes no files\n")
	x.measures(x.shown[0], `massgen_ready\{part="disk"\} 0`)
	x.state("running")
	empty(x.workers[0])
	x.readies(x.shown[0], http.StatusOK, "")
	x.measures(x.shown[0], `massgen_ready\{part="disk"\} 1`)
	s.free()
	x.state("idle")
	x.said(x.workers[0], `"msg":"the disk takes no files","part":"disk","error":"there is no room`, `"msg":"the disk takes files again"`)
}

// smallDisk returns what fills the disk of a worker's state folder, and what empties it.
func (w *world) smallDisk(folder string) (fill, empty func(*process)) {
	w.t.Helper()
	if os.Getuid() != 0 {
		limit := func(bytes uint64) func(*process) {
			return func(p *process) {
				ok(w.t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
			}
		}
		return limit(64 << 10), limit(unix.RLIM_INFINITY)
	}
	disk := filepath.Join(w.dir, folder, ".local", "state", "massgen")
	ok(w.t, os.MkdirAll(disk, 0o700))
	ok(w.t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=0700"))
	w.t.Cleanup(func() { ok(w.t, unix.Unmount(disk, unix.MNT_DETACH)) }) // the worker's folder goes with it
	filler := filepath.Join(disk, "filler")
	return func(*process) {
			if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
				w.t.Fatalf("the disk does not get full: %v", err)
			}
		}, func(*process) {
			ok(w.t, os.Remove(filler))
		}
}

func seeKeysRefused(t *testing.T) {
	w := newWorld(t)
	s := newService(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: http.StatusUnauthorized, Message: "wrong key"}}
	})
	x := w.watched(s, 1, s.agents(3)...)
	x.measures(x.shown[0], `massgen_calls_total\{provider="[a-z]+",called="agent1",outcome="`+string(backends.KindAuth)+`"\} 1`)
	for _, at := range []string{x.shown[0], x.server.url} {
		x.measures(at, `massgen_turns_total\{model="panel",status="failed"\} 1`)
		x.readies(at, http.StatusOK, "")
	}
	x.state("idle")
	for _, p := range []*process{x.workers[0], x.server.process} {
		x.said(p, `"level":"ERROR","msg":"all agents of a turn have failed","session":"s","turn":1,.*"status":"failed",.*"agent":"agent1","error":"[^"]*wrong key`)
	}
}

func seeWorkerKilled(t *testing.T) {
	w := newLosingWorld(t)
	s := heldAgreement(t)
	x := w.watched(s, 2, s.agents(3)...)
	x.until("the call is under way", func() bool { return s.holds() == 1 && replies(t, w.store(), 1) == 2 })
	caller, left := w.caller(), 0
	for i, p := range x.workers {
		if p.Process.Pid == caller {
			p.kill()
			left = 1 - i
		}
	}
	x.measures(x.shown[left], `massgen_calls_lost_total 1`)
	x.readies(x.shown[left], http.StatusOK, "")
	x.state("running")
	s.free()
	x.state("idle")
	x.measures(x.shown[left], `massgen_turns_total\{model="panel",status="completed"\} 1`)
	x.said(x.workers[left], `"level":"WARN","msg":"a call is lost with its worker, and made again",.*"session":"s","turn":1,"agent":"agent[1-3]","call":"[^"]*`)
}

func seeWorkflowTerminated(t *testing.T) {
	w := newWorld(t)
	w.settings.Lease = 5 * time.Second
	s := heldAgreement(t)
	x := w.watched(s, 1, s.agents(3)...)
	x.until("the call is under way", func() bool { return s.holds() == 1 })
	ok(t, w.dial().TerminateWorkflow(t.Context(), w.workflow(), "", "by the test"))
	for _, at := range []string{x.shown[0], x.server.url} {
		x.measures(at, `massgen_workflows_ended_total\{status="terminated"\} 1`)
		x.readies(at, http.StatusOK, "")
	}
	x.state("interrupted")
	for _, p := range []*process{x.workers[0], x.server.process} {
		x.said(p, `"level":"ERROR","msg":"a workflow has ended otherwise than by its turn","session":"s","status":"terminated"`)
	}
}

// seeLimitReached has a limit of the rate hold calls up, a budget refuse them, and the server refuse a turn too many.
func seeLimitReached(t *testing.T) {
	for name, check := range map[string]func(*testing.T){"the rate": seeRateReached, "the budget": seeBudgetReached, "the turns": seeTurnsReached} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

func seeRateReached(t *testing.T) {
	w := newWorld(t)
	s := newService(t, agreeable)
	x := w.watched(s, 1, s.agents(3, "providers: {chatcompletion: {requests_per_minute: 1}}")...)
	x.measures(x.shown[0], `massgen_limit_waits_total\{limit="rate"\} [1-9]`)
	x.measures(x.shown[0], `massgen_attempts_waiting\{provider="[a-z]+",reason="limit"\} [1-9]`)
	x.readies(x.shown[0], http.StatusOK, "")
	x.state("running")
	x.logged(x.workers[0], `"level":"WARN","msg":"a limit holds a call up","session":"s","turn":1,"agent":"agent[^\n]*"limit":"rate"`)
}

func seeBudgetReached(t *testing.T) {
	w := newWorld(t)
	s := newService(t, agreeable)
	x := w.watched(s, 1, s.agents(3, "budget: {max_calls: 2}")...)
	x.measures(x.shown[0], `massgen_limit_waits_total\{limit="budget"\} [1-9]`)
	for _, at := range []string{x.shown[0], x.server.url} {
		x.measures(at, `massgen_turns_total\{model="panel",status="budget"\} 1`)
		x.readies(at, http.StatusOK, "")
	}
	x.state("idle")
	x.logged(x.workers[0], `"level":"WARN","msg":"a limit (?:refuses|holds) a call[^\n]*"session":"s","turn":1,"agent":"agent[^\n]*"limit":"budget"`)
}

func seeTurnsReached(t *testing.T) {
	w := newWorld(t)
	s := heldAgreement(t)
	w.serving = []string{"--max-runs", "1"}
	x := w.watched(s, 1, s.agents(3)...)
	x.until("the call is under way", func() bool { return s.holds() == 1 })
	body, err := x.server.post(t.Context(), asks("other", "energy?"))
	ok(t, err)
	said, err := io.ReadAll(body)
	ok(t, errors.Join(err, body.Close()))
	if !strings.Contains(string(said), "rate_limit_exceeded") {
		t.Errorf("the second turn is not refused: %s", said)
	}
	x.measures(x.server.url, `massgen_limit_waits_total\{limit="turns"\} 1`)
	x.measures(x.server.url, `massgen_requests_refused_total\{code="rate_limit_exceeded"\} 1`)
	x.readies(x.server.url, http.StatusOK, "")
	x.state("running") // and it is the only one
	s.free()
	x.state("idle")
	x.said(x.server.process, `"level":"WARN","msg":"a limit refuses a turn","limit":"turns","model":"panel"`)
}

// logged checks that a process has logged a line at least once.
func (x *seen) logged(p *process, line string) {
	x.t.Helper()
	is := regexp.MustCompile(line)
	x.until("the line "+line, func() bool { return is.MatchString(p.stderr.String()) })
}
