package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
)

// looking is a model that keeps what it is shown.
type looking struct {
	// answer is the reply to messages; nil means the word Answer with the number of the call.
	answer func(messages []backends.Message) (string, error)

	mu    sync.Mutex
	shown [][]backends.Message
}

// Stream implements backends.Backend.
func (l *looking) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = append(l.shown, req.Messages)
	text, err := fmt.Sprint("Answer ", len(l.shown)), error(nil)
	if l.answer != nil {
		text, err = l.answer(req.Messages)
	}
	return func(yield func(backends.Event, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		_ = yield(backends.TextDelta{Text: text}, nil) && yield(backends.Finish{Reason: "stop"}, nil)
	}
}

// last are the files of the last message that it was shown, and the text.
func (l *looking) last() (files []backends.File, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	messages := l.shown[len(l.shown)-1]
	m := messages[len(messages)-1]
	for _, p := range m.Parts {
		if f, ok := p.(backends.File); ok {
			files = append(files, f)
		}
	}
	return files, m.Text()
}

// texts returns the texts of the last message list that it was shown, each after its role.
func (l *looking) texts() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.shown) == 0 {
		return nil
	}
	for _, m := range l.shown[len(l.shown)-1] {
		all = append(all, string(m.Role)+": "+textOf(m))
	}
	return all
}

func serveLooking(t *testing.T) (served, *looking) {
	t.Helper()
	model := &looking{}
	s := serve(t, func(s *server.Settings) {
		kept := store.InMemory("", func(text string) string { return text }).Sessions
		s.Store = kept
		s.Models = []server.Model{{ID: "eye", Created: time.Unix(1, 0), Agents: []string{"eye"}, Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "eye", Backend: model}}, massgen.WithStore(kept))
		}}}
	})
	return s, model
}

func pixels(t *testing.T, side int) (data []byte, url string) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, side, side))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestFilesOfAMessageReachTheModel: byte for byte, in the forms of both APIs. So do the files of
// earlier messages, each once.
func TestFilesOfAMessageReachTheModel(t *testing.T) {
	photo, url := pixels(t, 3)
	other, otherURL := pixels(t, 4)
	paper := []byte("%PDF-1.4\n<</Type /Page>>\xff\x00")
	inBase64 := base64.StdEncoding.EncodeToString(paper)
	for name, test := range map[string]struct {
		path, body string
		want       [][]byte
		names      []string
	}{
		"chat": {
			"/v1/chat/completions",
			`{"model":"eye","messages":[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"` + url + `"}},` +
				`{"type":"file","file":{"filename":"p.pdf","file_data":"data:application/pdf;base64,` + inBase64 + `"}}]}]}`,
			[][]byte{photo, paper}, []string{"image", "p.pdf"},
		},
		"response": {
			"/v1/responses",
			`{"model":"eye","input":[{"role":"user","content":[{"type":"input_text","text":"What?"},{"type":"input_image","image_url":"` + url + `"},` +
				`{"type":"input_file","filename":"p.pdf","file_data":"` + inBase64 + `"}]}]}`,
			[][]byte{photo, paper}, []string{"image", "p.pdf"},
		},
		"conversation": {
			"/v1/chat/completions",
			`{"model":"eye","messages":[{"role":"user","content":[{"type":"text","text":"One?"},{"type":"image_url","image_url":{"url":"` + url + `"}}]},` +
				`{"role":"assistant","content":"1"},{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"` + otherURL + `"}},` +
				`{"type":"image_url","image_url":{"url":"` + url + `"}}]}]}`,
			[][]byte{photo, other}, []string{"image", "image"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, model := serveLooking(t)
			if r := s.send(t, http.MethodPost, test.path, test.body); r.status != http.StatusOK {
				t.Fatalf("status %d: %s", r.status, r.body)
			}
			files, text := model.last()
			var got [][]byte
			var names []string
			for _, f := range files {
				got, names = append(got, f.Data), append(names, f.Name)
			}
			if !slices.EqualFunc(got, test.want, bytes.Equal) || !slices.Equal(names, test.names) || !strings.HasPrefix(text, "What?\n\n[Attached: ") {
				t.Errorf("the model is sent %q and %q", names, text)
			}
		})
	}
}

// TestNothingIsFetched: an address in a message is refused, and nobody is called.
func TestNothingIsFetched(t *testing.T) {
	s, model := serveLooking(t)
	var fetched atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	t.Cleanup(inside.Close)
	_, url := pixels(t, 2)
	for part, want := range map[string]string{
		`{"type":"image_url","image_url":{"url":"` + inside.URL + `/a.png"}}`:       "only data: URLs are taken",
		`{"type":"input_image","image_url":"` + inside.URL + `"}`:                   "only data: URLs are taken",
		`{"type":"input_file","file_url":"` + inside.URL + `/a.pdf"}`:               "only data: URLs are taken",
		`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`:             "only data: URLs are taken",
		`{"type":"input_image","file_id":"file-1"}`:                                 "has no image_url",
		`{"type":"input_file","file_id":"file-1"}`:                                  "names a file by its file_id",
		`{"type":"file","file":{}}`:                                                 "has no data",
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,!!"}}`:       "is not in Base64",
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,UEsDBCD/"}}`: "only png, jpeg, webp, gif, pdf and text",
		`{"type":"input_audio","input_audio":{}}`:                                   "takes text, images and files",
		`{"type":"image_url","image_url":7}`:                                        "has no image_url",
	} {
		r := s.chat(t, `{"model":"eye","messages":[{"role":"user","content":[{"type":"text","text":"What?"},`+part+`]}]}`)
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, want) {
			t.Errorf("%.60s: status %d, %s", part, r.status, r.body)
		}
	}
	if n := fetched.Load(); n != 0 || len(model.shown) != 0 {
		t.Errorf("%d addresses were fetched, and the model was called %d times", n, len(model.shown))
	}
	r := s.chat(t, `{"model":"eye","messages":[{"role":"system","content":[{"type":"image_url","image_url":{"url":"`+url+`"}}]},{"role":"user","content":"?"}]}`)
	if r.status != http.StatusBadRequest || !strings.Contains(r.body, "only the user's may have files") {
		t.Errorf("an image of the system's: status %d, %s", r.status, r.body)
	}
}
