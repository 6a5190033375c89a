package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// mock is the server in its own process, as the runner sees it.
type mock struct {
	address string
	cancel  context.CancelFunc
	wait    func() error
}

// startMock starts this program as the server. The caller closes it.
func startMock(ctx context.Context, self string) (*mock, error) {
	cmd := exec.Command(self, "server")
	cmd.Stderr = os.Stderr
	// The server ends with its standard input, also if this process is killed.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	wait, err := start(ctx, cmd)
	if err != nil {
		cancel()
		return nil, err
	}
	m := &mock{cancel: cancel, wait: wait}
	if m.address, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("read the server's address: %w", err), m.close())
	}
	m.address = strings.TrimSpace(m.address)
	return m, nil
}

// close ends the server and waits for it.
func (m *mock) close() error {
	m.cancel()
	if err := m.wait(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("end the server: %w", err)
	}
	return nil
}

// base returns the base URL at which the server answers with a latency.
func (m *mock) base(l latency) string { return m.address + "/" + l.String() + "/v1" }

// reset forgets what was counted and recorded.
func (m *mock) reset(ctx context.Context, record bool) error {
	path := "/control/reset"
	if record {
		path += "?record=1"
	}
	return m.control(ctx, path, io.Discard)
}

// counts returns what the server has received since the last reset.
func (m *mock) counts(ctx context.Context) (counts, error) {
	var text strings.Builder
	if err := m.control(ctx, "/control/counts", &text); err != nil {
		return counts{}, err
	}
	var c counts
	if err := json.Unmarshal([]byte(text.String()), &c); err != nil {
		return counts{}, fmt.Errorf("read the server's counts: %w", err)
	}
	return c, nil
}

// saveBodies writes the recording to a file.
func (m *mock) saveBodies(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("save a recording: %w", err)
	}
	if err := errors.Join(m.control(ctx, "/control/bodies", file), file.Close()); err != nil {
		return fmt.Errorf("save a recording: %w", err)
	}
	return nil
}

func (m *mock) control(ctx context.Context, path string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.address+path, nil)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the server for %s: it answers %s", path, response.Status)
	}
	if _, err := io.Copy(to, response.Body); err != nil {
		return fmt.Errorf("read the server's answer to %s: %w", path, err)
	}
	return nil
}
