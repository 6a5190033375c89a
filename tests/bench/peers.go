package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peersPage is where a full run of peers writes what it has measured.
const peersPage = "docs/peers.md"

// peersModule is the nested module that has the peers in Go, so that massgen depends on none.
const peersModule = "tests/bench/peers"

// peerResults are what a run of peers has measured.
type peerResults struct {
	Machine  machine
	Versions []string
	Rounds   []map[string]benchmark // by name, without BenchmarkPeers/
	Panels   []peerPanel
	Missing  []string // the peers that are not installed
}

// peerPanel is a panel of MassGen beside one of massgen, against the same mock.
type peerPanel struct {
	wallCase
	MassGen, Program       []measurement
	Own                    []time.Duration // MassGen's time by its own clock, without its imports
	MassGenCalls, OwnCalls int
}

// playPeers measures massgen beside the peers in one run, and writes their page.
func playPeers(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	rounds := flags.Int("rounds", 10, "measure each peer so often, by turns")
	each := flags.Duration("time", 200*time.Millisecond, "how long a peer does one kind of work in a round")
	write := flags.Bool("write", false, "write "+peersPage)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the flags: %w", err)
	}
	s := &suite{log: os.Stderr}
	remove, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r := &peerResults{}
	if r.Machine, err = describeMachine(ctx, s.root); err != nil {
		return err
	}
	if s.mock, err = startMock(ctx, s.self); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.mock.close()) }()
	if err := s.runPeers(ctx, r, *rounds, *each); err != nil {
		return err
	}
	if err := s.runMassGen(ctx, r); err != nil {
		return err
	}
	text := r.page()
	if *write {
		if err := os.WriteFile(filepath.Join(s.root, peersPage), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	_, err = io.WriteString(out, text)
	return err
}

// runPeers does the mocked work of all libraries, round by round.
func (s *suite) runPeers(ctx context.Context, r *peerResults, rounds int, each time.Duration) error {
	module := filepath.Join(s.root, peersModule)
	program := filepath.Join(s.dir, "peers.test")
	s.say("building the peers")
	build := exec.Command("go", "test", "-mod=mod", "-c", "-o", program, ".")
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if _, err := outputOf(ctx, build); err != nil {
		return err
	}
	versions, err := output(ctx, module, "go", "list", "-m", "-f", "{{.Path}} {{.Version}}",
		"github.com/cloudwego/eino", "google.golang.org/adk/v2", "modernc.org/sqlite")
	if err != nil {
		return err
	}
	r.Versions = strings.Split(strings.TrimSpace(versions), "\n")
	python, err := s.python(ctx, r, "LangGraph")
	if err != nil {
		return err
	}
	for n := range rounds {
		s.say("mocked work, round %d of %d", n+1, rounds)
		text, err := s.runTests(ctx, peersModule, program, benchmarkFlags(".", each.String()))
		if err != nil {
			return err
		}
		if python != "" {
			more, err := output(ctx, module, python, "langgraph_peer.py", fmt.Sprint(each.Seconds()))
			if err != nil {
				return err
			}
			text += more
		}
		found, err := parseBenchmarks(peersModule, text)
		if err != nil {
			return err
		}
		round := map[string]benchmark{}
		for _, b := range found {
			round[strings.TrimPrefix(b.Name, "Peers/")] = b
		}
		r.Rounds = append(r.Rounds, round)
	}
	return nil
}

// python returns the interpreter that has a peer in Python, and notes the peer's version. It
// returns "" for a peer that is not installed.
func (s *suite) python(ctx context.Context, r *peerResults, peer string) (string, error) {
	name := strings.ToLower(peer)
	home := filepath.Join(s.root, ".cache", "peers", name)
	path := filepath.Join(home, "bin", "python")
	_, err := os.Stat(filepath.Join(home, "installed-from")) // scripts/peers.sh writes it last
	if errors.Is(err, fs.ErrNotExist) {
		r.Missing = append(r.Missing, peer)
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", peer, err)
	}
	version, err := output(ctx, "", path, "-c", "import importlib.metadata, platform; print(importlib.metadata.version('"+name+"'), 'on Python', platform.python_version())")
	r.Versions = append(r.Versions, peer+" "+strings.TrimSpace(version))
	return path, err
}

// runMassGen runs panels of MassGen and of massgen by turns, as processes against one mock.
func (s *suite) runMassGen(ctx context.Context, r *peerResults) error {
	python, err := s.python(ctx, r, "MassGen")
	if python == "" || err != nil {
		return err
	}
	for _, agents := range []int{3, 30} {
		p := peerPanel{wallCase: wallCase{Agents: agents, Latency: latency{Median: 500 * time.Millisecond}, Runs: 3}}
		for range p.Runs {
			s.say("MassGen with %d agents, calls of %s", p.Agents, p.Latency)
			if err := s.pair(ctx, &p, python); err != nil {
				return fmt.Errorf("MassGen with %d agents: %w", agents, err)
			}
		}
		r.Panels = append(r.Panels, p)
	}
	return nil
}

// pair runs a turn of MassGen, and the same turn of massgen.
func (s *suite) pair(ctx context.Context, p *peerPanel, python string) error {
	counted := func(run func() (measurement, error)) (measurement, int, error) {
		if err := s.mock.reset(ctx, false); err != nil {
			return measurement{}, 0, err
		}
		m, err := run()
		if err != nil {
			return m, 0, err
		}
		c, err := s.mock.counts(ctx)
		return m, c.calls(), err
	}
	file := filepath.Join(s.dir, "massgen.json")
	theirs, calls, err := counted(func() (measurement, error) {
		script := filepath.Join(s.root, peersModule, "massgen_peer.py")
		return s.measured(ctx, s.dir, file, python, script, s.mock.base(p.Latency), fmt.Sprint(p.Agents), question)
	})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read MassGen's time: %w", err)
	}
	// What MassGen prints itself comes first.
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var own struct{ Seconds float64 }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &own); err != nil {
		return fmt.Errorf("read MassGen's time: %w", err)
	}
	ours, ownCalls, err := counted(func() (measurement, error) { return s.turn(ctx, p.Agents, p.Latency) })
	p.MassGen, p.Program = append(p.MassGen, theirs), append(p.Program, ours)
	p.Own = append(p.Own, time.Duration(own.Seconds*float64(time.Second)))
	p.MassGenCalls, p.OwnCalls = calls, ownCalls
	return err
}
