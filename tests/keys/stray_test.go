package keys

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/leaks"
)

// straying is a service that answers, and then says more on a connection on which
// nobody has asked. It repeats the key. dropped is sent to when the program has closed such a
// connection.
func straying(t *testing.T) (url string, dropped <-chan struct{}) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	closed := make(chan struct{}, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			stray(conn)
			select {
			case closed <- struct{}{}:
			default: // an earlier one was not waited for
			}
		}
	}()
	return "http://" + listener.Addr().String() + "/v1", closed
}

func stray(conn net.Conn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return // the program has gone
	}
	answer := chatProtocol().text("an answer")
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

// listener keeps what a program writes, which nobody may read before it has ended.
type listener struct {
	want  string
	heard chan struct{} // closed when what is wanted has come

	mu   sync.Mutex
	text strings.Builder
}

func listenFor(want string) *listener { return &listener{want: want, heard: make(chan struct{})} }

func (l *listener) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := strings.Contains(l.text.String(), l.want)
	n, err := l.text.Write(data)
	if !before && strings.Contains(l.text.String(), l.want) {
		close(l.heard)
	}
	return n, err
}

func (l *listener) await(t *testing.T) {
	t.Helper()
	select {
	case <-l.heard:
	case <-time.After(time.Minute):
		t.Fatalf("nobody has written %q", l.want)
	}
}

// TestNoStrayWordsShowAKey: net/http logs them, for all of the process. They are in the debug log, with
// the key masked, and nowhere else.
func TestNoStrayWordsShowAKey(t *testing.T) {
	for _, flag := range []string{"--debug", "--quiet", "--no-display"} {
		t.Run(flag, func(t *testing.T) {
			leaks.Check(t)
			url, dropped := straying(t)
			stdin, keyboard := io.Pipe()
			stdout, stderr := listenFor("an answer"), listenFor("stray Bearer ***")
			status := make(chan int, 1)
			go func() {
				status <- app.Main([]string{"massgen", flag, "--state-dir", t.TempDir(), "--lines", "--backend", "openai", "--model", "m", "--base-url", url}, app.Env{
					Stdin: stdin, Stdout: stdout, Stderr: stderr, LocalServers: map[string]string{},
					Lookup: func(name string) (string, bool) { return plainCanary, name == "OPENAI_API_KEY" },
				})
			}()
			if _, err := io.WriteString(keyboard, "question\n"); err != nil {
				t.Fatal(err)
			}
			stdout.await(t)
			select {
			case <-dropped: // the line is logged before the connection is closed
			case <-time.After(time.Minute):
				t.Fatal("the program keeps the connection")
			}
			if err := keyboard.Close(); err != nil {
				t.Fatal(err)
			}
			got, said := <-status, stderr.text.String()
			if got != app.ExitCompleted || shows(said, plainCanary) {
				t.Errorf("status %d and\n%s", got, said)
			}
			isLogged := strings.Contains(said, "level=DEBUG msg=\"a library logged a line\"") && strings.Contains(said, "stray Bearer ***")
			if isLogged != (flag == "--debug") || !isLogged && strings.Contains(said, "stray") {
				t.Errorf("the program writes\n%s", said)
			}
		})
	}
}
