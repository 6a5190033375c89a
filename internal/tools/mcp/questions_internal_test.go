package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestQuestionsWaitForTheirAnswers: only so many are passed on before the server has taken answers, and none
// whose id is that of an open one.
func TestQuestionsWaitForTheirAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions(t.Context())
		ping := func(id string) []byte { return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id) }
		ask := func(ctx context.Context, message []byte) chan error {
			done := make(chan error, 1)
			go func() { done <- q.admit(ctx, message) }()
			synctest.Wait()
			return done
		}
		for i := range mostQuestions - 1 {
			if err := q.admit(t.Context(), ping(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		same := ask(t.Context(), ping("3.0"))
		if len(same) > 0 {
			t.Error("a question with the id of an open one was passed on")
		}
		q.hold("3")()
		q.hold("4")()
		synctest.Wait()
		if len(same) != 1 {
			t.Error("a question waits although the one with its id is answered")
		}
		for _, id := range []string{"101", "102"} {
			if err := q.admit(t.Context(), ping(id)); err != nil {
				t.Fatal(err)
			}
		}
		for _, other := range []string{`{"method":"notifications/progress"}`, `{"id":7,"result":{}}`, `{"id":null,"method":"ping"}`, "no message", ""} {
			if len(ask(t.Context(), []byte(other))) != 1 {
				t.Errorf("%q waits, and is no question", other)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		late := ask(ctx, ping(`"a"`))
		if len(late) > 0 {
			t.Errorf("%d questions are open, and one more was passed on", mostQuestions)
		}
		cancel()
		if err := <-late; !errors.Is(err, context.Canceled) {
			t.Errorf("a question of a stream that has ended: %v", err)
		}
	})
}

// TestStreamWaitsForAnswers: the questions of all responses of a server count together, in whatever form they come.
func TestStreamWaitsForAnswers(t *testing.T) {
	for kind, ask := range map[string]func(id int) string{
		eventStream: func(id int) string { return fmt.Sprintf("data: {\"id\":%d,\ndata: \"method\":\"ping\"}\n\n", id) },
		jsonMessage: func(id int) string { return fmt.Sprintf(`{"id":%d,"method":"ping"}`, id) },
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQuestions(t.Context())
				var read atomic.Int32
				readPing := func(id int) {
					base := tripper(func(*http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(ask(id)))}, nil
					})
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://docs.example.com/mcp", nil)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := carefulTripper{base: base, questions: q, listening: &listening{}, posted: &atomic.Int32{}}.RoundTrip(req)
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if text, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(text), "ping") {
						t.Errorf("%q, %v", text, err)
					}
					read.Add(1)
				}
				for id := range mostQuestions + 1 {
					go readPing(id)
				}
				synctest.Wait()
				if read.Load() != mostQuestions {
					t.Errorf("%d questions were passed on", read.Load())
				}
				for id := range mostQuestions + 1 { // one of them waits
					q.hold(strconv.Itoa(id))()
				}
				synctest.Wait()
				if read.Load() != mostQuestions+1 {
					t.Errorf("%d questions were passed on after the answers", read.Load())
				}
			})
		})
	}
}

// TestAnswersAreHeldAcrossRedirects: an answer that is sent to another address again still counts.
func TestAnswersAreHeldAcrossRedirects(t *testing.T) {
	t.Parallel()
	q := newQuestions(t.Context())
	var during []bool
	base := tripper(func(req *http.Request) (*http.Response, error) {
		during = append(during, q.open[`"a"`])
		return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody}, nil
	})
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://docs.example.com/mcp", strings.NewReader(`{"id":"a","result":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := carefulTripper{base: base, questions: q, listening: &listening{}, posted: &atomic.Int32{}}.RoundTrip(req)
		if err != nil || !q.open[`"a"`] {
			t.Fatalf("the answer is over before its response is closed, %v", err)
		}
		resp.Body.Close()
	}
	if len(during) != 2 || !during[0] || !during[1] || len(q.open) > 0 {
		t.Errorf("held %v, at last %v", during, q.open)
	}
}
