package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// server is a Temporal server.
type server struct {
	address string
	// file keeps what the server knows while it is down; empty keeps it in memory only.
	file string
	run  *exec.Cmd
}

// newServer starts a server on an address of its own.
func newServer(file string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &server{address: address, file: file}
	return s, s.start()
}

// start starts the server, with what its file has, and returns when it takes requests.
func (s *server) start() error {
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "never"}
	if s.file != "" {
		// What a killed process has written stays without it, and beside other tests it takes minutes.
		args = append(args, "--db-filename", s.file, "--sqlite-pragma", "synchronous=OFF")
	}
	s.run = exec.Command(os.Getenv(temporalTest), args...)
	if err := s.run.Start(); err != nil {
		return err
	}
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(patience); !s.isReady(); <-time.After(pause) {
		if time.Now().After(end) {
			s.kill()
			return fmt.Errorf("the Temporal server at %s is not ready within %s", s.address, patience)
		}
	}
	return nil
}

// isReady reports whether the server knows its namespace.
func (s *server) isReady() bool {
	c, err := client.Dial(client.Options{HostPort: s.address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.DescribeWorkflowExecution(context.Background(), "none", "")
	var none *serviceerror.NotFound
	return errors.As(err, &none)
}

func (s *server) kill() {
	_ = s.run.Process.Kill() // it may be gone already
	_ = s.run.Wait()         // and was killed
}

// common is the server of all worlds that do not kill theirs. The first one starts it.
var common struct {
	once sync.Once
	*server
	err error
}

func commonServer() (*server, error) {
	common.once.Do(func() { common.server, common.err = newServer("") })
	return common.server, common.err
}

// killCommonServer ends the common server, if a test has started it.
func killCommonServer() {
	common.once.Do(func() {}) // no test starts it any more
	if common.server != nil {
		common.kill()
	}
}

// firstPort and ports say which ports were given away.
var (
	firstPort = 10_000 + rand.Int32N(19_000)
	ports     atomic.Int32
)

// freeAddress returns an address that nobody listens to, and no address twice. Its port is
// below those that the system gives to clients: a client that asks for a port of that range
// may be connected to itself.
func freeAddress() (string, error) {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+ports.Add(1)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
}
