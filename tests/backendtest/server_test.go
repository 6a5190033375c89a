package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

const chatBody = `{
  "model": "m", "stream": true, "stream_options": {"include_usage":true}, "temperature": 0, "max_completion_tokens": 9,
  "messages": [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAE="}}]},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "vote", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": ""}
  ],
  "tools": [{"type": "function", "function": {"name": "vote", "description": "d", "parameters": {"type":"object"}}}]
}`

// post sends a body and returns the status and the answer.
func post(ctx context.Context, client *http.Client, url, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), errors.Join(err, resp.Body.Close())
}

func TestServerDecodesCalls(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{} })
	client := newClient(t, &http.Transport{})
	if _, _, err := post(t.Context(), client, server.BaseURL, chatBody); err != nil {
		t.Fatal(err)
	}
	call := server.Calls()[0]
	zero, nine := 0.0, 9
	want := backends.Request{
		Model: "m",
		Messages: []backends.Message{
			backends.System("rules"),
			{Role: backends.RoleUser, Parts: []backends.Part{backends.Text{Text: "look"}, backends.Image{MediaType: "image/png", Data: []byte{0, 1}}}},
			{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: "a", Name: "vote", Arguments: "{}"}}},
			{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a"}}},
		},
		Tools:  []backends.Tool{{Name: "vote", Description: "d", Schema: []byte(`{"type":"object"}`)}},
		Params: backends.Params{Temperature: &zero, MaxTokens: &nine},
	}
	if diff := cmp.Diff(want, call.Request()); diff != "" {
		t.Error(diff)
	}
	if call.Number != 1 || call.System() != "rules" || call.User() != "look" || string(server.Bodies()[0]) != chatBody {
		t.Errorf("call %d, system %q, user %q", call.Number, call.System(), call.User())
	}
}

func TestServerSpeaksTheProtocol(t *testing.T) {
	reply := backendtest.Reply{
		Text:      "äb",
		ToolCalls: []backends.ToolCall{{ID: "a", Name: "vote", Arguments: "{}"}},
		Usage:     &backends.Usage{InputTokens: 3, OutputTokens: 2, CachedInputTokens: 1},
	}
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return reply })
	client := newClient(t, &http.Transport{})
	_, stream, err := post(t.Context(), client, server.BaseURL, `{"stream":true,"stream_options":{"include_usage":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		line = strings.TrimPrefix(line, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":0,"model":"test-model",`)
		got = append(got, line)
	}
	want := []string{
		`"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{"content":"ä"},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"vote","arguments":""}}]},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":null}]}`,
		`"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}}`,
		`data: [DONE]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, stream, err = post(t.Context(), client, server.BaseURL, `{"stream":true}`)
	if err != nil || strings.Contains(stream, "usage") || !strings.HasSuffix(stream, "data: [DONE]\n\n") {
		t.Errorf("without asking for usage: %s %v", stream, err)
	}
	_, whole, err := post(t.Context(), client, server.BaseURL, `{}`)
	if err != nil || !strings.Contains(whole, `"message":{"role":"assistant","content":"äb","tool_calls":[{"id":"a"`) {
		t.Errorf("without a stream: %s %v", whole, err)
	}
}

// TestManyCallsAtOnce is also what shows that the server adds no time of its own.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	const callers, delay = 100, 500 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		server := backendtest.NewPipeServer(t, func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "x", Delay: delay}
		})
		client := newClient(t, server.Transport())
		start := time.Now()
		group, ctx := errgroup.WithContext(t.Context())
		for range callers {
			group.Go(func() error {
				_, _, err := post(ctx, client, server.BaseURL, chatBody)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if passed := time.Since(start); passed != delay {
			t.Errorf("%d calls took %s, want %s", callers, passed, delay)
		}
		if err := server.AwaitIdle(t.Context()); err != nil {
			t.Error(err)
		}
		if server.MaxOpen() != callers || server.Open() != 0 || len(server.Calls()) != callers {
			t.Errorf("most open %d, open %d, calls %d", server.MaxOpen(), server.Open(), len(server.Calls()))
		}
	})
}

// TestCloseFreesWhatHangs checks that a test cannot hang on its own server.
func TestCloseFreesWhatHangs(t *testing.T) {
	for _, reply := range []backendtest.Reply{
		{Fault: backendtest.HangBefore}, {Fault: backendtest.HangMidStream}, {Delay: time.Hour},
	} {
		reached := make(chan struct{})
		server := backendtest.NewServer(nil, func(backendtest.Call) backendtest.Reply {
			close(reached)
			return reply
		})
		client := newClient(t, &http.Transport{})
		go func() {
			<-reached
			server.Close()
		}()
		if _, text, err := post(t.Context(), client, server.BaseURL, `{"stream":true}`); err == nil && strings.Contains(text, "[DONE]") {
			t.Errorf("%+v was answered: %s", reply, text)
		}
		server.Close()
	}
}

func TestAwaitIdleEndsWithItsContext(t *testing.T) {
	reached := make(chan struct{})
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		close(reached)
		return backendtest.Reply{Fault: backendtest.HangBefore}
	})
	client := newClient(t, &http.Transport{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := post(ctx, client, server.BaseURL, chatBody)
		done <- err
	}()
	<-reached
	ended, end := context.WithCancel(t.Context())
	end()
	if err := server.AwaitIdle(ended); !errors.Is(err, context.Canceled) || server.Open() != 1 {
		t.Errorf("with one call open: %v, open %d", err, server.Open())
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that hangs was answered")
	}
}

func newClient(t testing.TB, transport *http.Transport) *http.Client {
	transport.MaxIdleConnsPerHost = 100
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// BenchmarkServer reports how much longer than the server's delay it takes to
// answer a number of calls at once.
func BenchmarkServer(b *testing.B) {
	const delay = 500 * time.Millisecond
	for _, callers := range []int{3, 100} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			server := backendtest.NewServer(b, func(backendtest.Call) backendtest.Reply {
				return backendtest.Reply{Text: "x", Delay: delay}
			})
			client := newClient(b, &http.Transport{})
			for b.Loop() {
				group, ctx := errgroup.WithContext(b.Context())
				for range callers {
					group.Go(func() error {
						_, _, err := post(ctx, client, server.BaseURL, chatBody)
						return err
					})
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(delay), "delays/op")
		})
	}
}
