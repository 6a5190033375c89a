package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// asked is how long a panel took for its answers, in order: its turn on the command line, that with
// the program's start, and a request to the server.
type asked struct{ turn, program, served []time.Duration }

// panelConfig writes a config of three agents of a model.
func panelConfig(dir, model string) (file string, err error) {
	text := "agents:\n"
	for _, id := range []string{"ada", "bob", "cay"} {
		text += fmt.Sprintf("  - {id: %s, backend: {type: chatcompletion, model: m, base_url: %q}}\n", id, model+"/v1")
	}
	file = filepath.Join(dir, "panel.yaml")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// askPanel asks a panel so many times by the command line and by a server that runs, in turns. Both
// keep their sessions on disk.
func askPanel(ctx context.Context, program, dir, config, url string, times int) (a asked, err error) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := range times + 1 {
		turn, program, err := askProgram(ctx, program, dir, config)
		if err != nil {
			return a, err
		}
		served, err := askServer(ctx, client, url)
		if err != nil {
			return a, err
		}
		if i == 0 { // makes the stores and opens the panel
			continue
		}
		a.turn, a.program, a.served = append(a.turn, turn), append(a.program, program), append(a.served, served)
	}
	for _, list := range [][]time.Duration{a.turn, a.program, a.served} {
		slices.Sort(list)
	}
	return a, nil
}

// question is what the panel is asked.
const question = "What is Go?"

// askProgram asks by the command line, and returns how long the turn took, and the program.
func askProgram(ctx context.Context, program, dir, config string) (turn, whole time.Duration, err error) {
	cmd := exec.CommandContext(ctx, program, "--config", config, "--json", "--state-dir", filepath.Join(dir, "cli"), question)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	began := time.Now()
	out, err := cmd.Output()
	whole = time.Since(began)
	if err != nil {
		return 0, 0, fmt.Errorf("ask by the command line: %w", err)
	}
	var result struct {
		Status     string
		DurationMS int64 `json:"duration_ms"`
	}
	if err := json.Unmarshal(out, &result); err != nil || result.Status != "completed" {
		return 0, 0, fmt.Errorf("ask by the command line: the result is %.200s %w", out, err)
	}
	return time.Duration(result.DurationMS) * time.Millisecond, whole, nil
}

func askServer(ctx context.Context, client *http.Client, url string) (took time.Duration, err error) {
	body := fmt.Sprintf(`{"model":"panel","messages":[{"role":"user","content":%q}]}`, question)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Choices) != 1 || answer.Choices[0].Message.Content != "This is an answer." {
		return 0, fmt.Errorf("ask the server: %s, %+v: %w", response.Status, answer, err)
	}
	return time.Since(began), nil
}

// middle is the p50 of durations in order.
func middle(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}

// overhead is how much longer the server takes than the turn of the command line (p50).
func (a asked) overhead() time.Duration { return middle(a.served) - middle(a.turn) }
