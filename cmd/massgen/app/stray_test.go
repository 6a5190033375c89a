package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
)

// straying is a service that answers, and then says more on a connection on which
// nobody has asked. It repeats the key.
func straying(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			stray(conn)
		}
	}()
	return "http://" + listener.Addr().String() + "/v1"
}

func stray(conn net.Conn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return // the program has gone
	}
	const answer = `data: {"choices":[{"index":0,"delta":{"content":"an answer"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	if err != nil {
		return // the program has gone
	}
	_, err = fmt.Fprintf(conn, "stray %s\r\n", r.Header.Get("Authorization"))
	if err != nil {
		return // the program has gone
	}
	_, _ = io.Copy(io.Discard, conn) // until the program closes it
}

// TestNoStrayWordsShowAKey: net/http logs them, for all of the process.
func TestNoStrayWordsShowAKey(t *testing.T) {
	noLeaks(t)
	const key = "sk-4tR8wZ3Qx9Kp2mV"
	url := straying(t)
	stdin, keyboard := io.Pipe()
	stdout, stderr := newTape(), newTape()
	status := make(chan int, 1)
	go func() {
		status <- app.Main([]string{"massgen", "--state-dir", t.TempDir(), "--backend", "openai", "--model", "m", "--base-url", url}, app.Env{
			Stdin: stdin, Stdout: stdout, Stderr: stderr, LocalServers: map[string]string{},
			Lookup: func(name string) (string, bool) { return key, name == "OPENAI_API_KEY" },
		})
	}()
	if _, err := io.WriteString(keyboard, "question\n"); err != nil {
		t.Fatal(err)
	}
	stdout.await(t, "an answer")
	stderr.await(t, "stray Bearer ***")
	if err := keyboard.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != app.ExitCompleted || strings.Contains(stderr.String(), key) {
		t.Errorf("status %d and\n%s", got, stderr)
	}
}
