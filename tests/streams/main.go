// Command streams measures massgen serve under many streams at once: it starts a model server and
// massgen in processes of their own, has clients ask at the same time, and prints what they saw. It
// also asks a panel by the command line and by the server, and compares how long both take.
//
//	go run ./tests/streams                 # 500 streams of 20 seconds, as docs/server.md has them
//	go run ./tests/streams -streams 50 -seconds 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// options say what is measured.
type options struct {
	streams, slow int
	length, every time.Duration
	// panel is how many times a panel is asked.
	panel int
}

// chunks is how many chunks a stream has.
func (o options) chunks() int { return int(o.length / o.every) }

func main() {
	if len(os.Args) == 4 && os.Args[1] == modelRole {
		fail(serveModel(os.Stdout, os.Args[2], os.Args[3]))
		return
	}
	var o options
	flag.IntVar(&o.streams, "streams", 500, "how many `CLIENTS` read at once")
	flag.IntVar(&o.slow, "slow", 5, "how many more `CLIENTS` read nothing")
	seconds := flag.Int("seconds", 20, "how many `SECONDS` a stream takes")
	flag.IntVar(&o.panel, "panel", 100, "how many `TIMES` a panel is asked by the command line and by the server")
	rate := flag.Int("rate", 10, "how many `CHUNKS` a model sends in a second")
	flag.Parse()
	o.length, o.every = time.Duration(*seconds)*time.Second, time.Second/time.Duration(*rate)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	self, err := os.Executable()
	fail(err)
	r, err := measure(ctx, self, o)
	fail(err)
	r.print(os.Stdout, o)
	if !r.kept(o) {
		os.Exit(1)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

// result is what was seen.
type result struct {
	bare, served seen
	// before and most are what the server's process held in memory, in bytes: before the streams,
	// and the most since it began.
	before, most int64
	asked        asked
}

// measure builds massgen and measures it. Self is this program, which is the model server too.
func measure(ctx context.Context, self string, o options) (r result, err error) {
	dir, err := os.MkdirTemp("", "massgen-streams")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "massgen")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program, "github.com/massgen/massgen/cmd/massgen")
	if out, err := build.CombinedOutput(); err != nil {
		return r, fmt.Errorf("build massgen: %w\n%s", err, out)
	}
	model, err := start(ctx, dir, "http://", self, modelRole, fmt.Sprint(o.chunks()), o.every.String())
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, model.end()) }()
	config := filepath.Join(dir, "one.yaml")
	text := fmt.Sprintf("agent: {id: one, backend: {type: chatcompletion, model: m, base_url: %q}}\n", model.url+"/v1")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return r, err
	}
	panel, err := panelConfig(dir, model.url)
	if err != nil {
		return r, err
	}
	server, err := start(ctx, dir, "listening on ", program, "serve", "--listen", "127.0.0.1:0", "--config", config, "--config", panel, "--state-dir", filepath.Join(dir, "state"), "--max-runs", "0")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	if r.asked, err = askPanel(ctx, program, dir, panel, server.url, o.panel); err != nil {
		return r, err
	}
	if r.bare, err = ask(ctx, model.url, o); err != nil {
		return r, err
	}
	if _, err := ask(ctx, server.url, options{streams: 1, length: o.every, every: o.every}); err != nil { // opens the panel
		return r, err
	}
	if r.before, err = server.memory("VmRSS"); err != nil {
		return r, err
	}
	if r.served, err = ask(ctx, server.url, o); err != nil {
		return r, err
	}
	r.most, err = server.memory("VmHWM")
	return r, err
}
