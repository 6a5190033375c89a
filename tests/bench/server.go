package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// server is a mock of a service that speaks chat completions. Its base URLs are
// ADDRESS/LATENCY/v1. It parses no body: it looks for the few bytes that decide its answer.
//
//	GET /control/reset?record=1  forget all counts, and record bodies from now on, or do not
//	GET /control/counts          the counts since then, as JSON
//	GET /control/bodies          the recording
type server struct {
	buffers sync.Pool // of *bytes.Buffer, for bodies that are not recorded

	mu        sync.Mutex
	counts    counts
	recording bool
	bodies    [rounds][][]byte // the recorded bodies
}

// rounds is how many rounds a panel takes that agrees at once: one of answers, one of votes.
const rounds = 2

// counts are what a server has received.
type counts struct {
	First  time.Time // when the first call arrived
	Rounds [rounds]roundCounts
}

// roundCounts are the calls of a round.
type roundCounts struct {
	Calls   int
	Bytes   int64         // of their bodies
	Longest time.Duration // the longest latency among them
}

// playServer prints its address and serves until ctx ends.
func playServer(ctx context.Context, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	web := &http.Server{Handler: newServer()}
	stop := context.AfterFunc(ctx, func() {
		_ = web.Close() // it closes connections, whose clients are gone or see it
	})
	defer stop()
	if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("print the address: %w", err), listener.Close())
	}
	if err := web.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// newServer returns a server that has received nothing.
func newServer() http.Handler {
	s := &server{buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{latency}/v1/chat/completions", s.serveCall)
	mux.HandleFunc("GET /control/reset", s.serveReset)
	mux.HandleFunc("GET /control/counts", s.serveCounts)
	mux.HandleFunc("GET /control/bodies", s.serveBodies)
	return mux
}

func (s *server) serveCall(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	l, err := parseLatency(r.PathValue("latency"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	body := s.buffers.Get().(*bytes.Buffer)
	body.Reset()
	body.Grow(int(max(0, r.ContentLength)) + bytes.MinRead)
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, "read the body: "+err.Error(), http.StatusBadRequest)
		return
	}
	a := answerTo(body.Bytes())
	tokens := body.Len() / bytesPerToken
	number, delay := s.count(arrived, a, l, body)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(a.stream(number, tokens)) // a client that has gone needs no answer
}

// count counts a call, and returns its number and its latency. It takes body over.
func (s *server) count(arrived time.Time, a answer, l latency, body *bytes.Buffer) (number int, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	if c.First.IsZero() || arrived.Before(c.First) {
		c.First = arrived
	}
	round := &c.Rounds[a.round()]
	round.Calls++
	round.Bytes += int64(body.Len())
	number = c.calls()
	delay = l.of(number)
	round.Longest = max(round.Longest, delay)
	if s.recording {
		s.bodies[a.round()] = append(s.bodies[a.round()], body.Bytes())
	} else {
		s.buffers.Put(body)
	}
	return number, delay
}

func (s *server) serveReset(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts, s.bodies = counts{}, [rounds][][]byte{}
	s.recording = r.FormValue("record") != ""
}

func (s *server) serveCounts(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	c := s.counts
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c) // the runner finds out what it did not get
}

func (s *server) serveBodies(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	bodies := s.bodies
	s.mu.Unlock()
	_ = writeRecording(w, bodies[:]) // the runner finds out what it did not get
}

// calls returns how many calls there were.
func (c counts) calls() (n int) {
	for _, r := range c.Rounds {
		n += r.Calls
	}
	return n
}

// bytes returns how many bytes the bodies had.
func (c counts) bytes() (n int64) {
	for _, r := range c.Rounds {
		n += r.Bytes
	}
	return n
}

// criticalPath returns the latencies that no client can avoid: the longest of each round.
func (c counts) criticalPath() (path time.Duration) {
	for _, r := range c.Rounds {
		path += r.Longest
	}
	return path
}
