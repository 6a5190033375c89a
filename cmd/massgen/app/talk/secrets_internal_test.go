package talk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/blob"
)

const panicKey = "sk-of-a-panic-0123456789"

// panics is a backend, and a tool, that break down with a key in their words. As a
// backend it first calls the tool, if there is one.
type panics struct{}

func (panics) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if len(req.Tools) == 0 || req.Messages[len(req.Messages)-1].Role == backends.RoleTool {
			panic(fmt.Sprintf("cannot call with %s", panicKey))
		}
		_ = yield(backends.ToolCall{ID: "1", Name: "tool", Arguments: `{}`}, nil) && yield(backends.Finish{Reason: "tool_calls"}, nil)
	}
}

func (panics) Definition() backends.Tool { return backends.Tool{Name: "tool"} }

func (panics) Call(context.Context, string) (string, error) {
	panic(fmt.Errorf("a tool was given %+v", map[string]string{"key": panicKey}))
}

func TestNoPanicOfAnEffectShowsAKey(t *testing.T) {
	for name, tools := range map[string][]agents.Tool{"backend": nil, "tool": {panics{}}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var shown bytes.Buffer
			p := program.New(cmdline.Env{
				Stdin: strings.NewReader(""), Stdout: &shown, Stderr: &shown, LocalServers: map[string]string{},
				Lookup: func(name string) (string, bool) { return panicKey, name == "XAI_API_KEY" },
			})
			p.Options = cmdline.Options{
				Panel: cmdline.PanelFlags{Backend: "demo"}, Session: cmdline.SessionFlags{StateDir: t.TempDir()},
				Display: cmdline.DisplayFlags{Debug: true, JSON: true, DumpInputs: dir},
			}
			p.Log = p.Logger()
			s, err := openSession(t.Context(), p, "")
			if err != nil {
				t.Fatal(err)
			}
			replacePanel(t, s, []massgen.Agent{{ID: "agent1", Backend: panics{}, Tools: tools}}, massgen.WithRecorder(massgen.RecorderOptions{Dir: dir}))
			if err := s.once(t.Context(), "question"); err == nil {
				t.Error("the turn did not fail")
			}
			if err := s.close(); err != nil {
				t.Error(err)
			}
			all := shown.String() + filesBelow(t, dir)
			if strings.Contains(all, panicKey) || !strings.Contains(all, "cannot call with ***") {
				t.Errorf("the key is shown, or the panic is not:\n%s", all)
			}
			if len(tools) > 0 && !strings.Contains(all, "map[key:***]") {
				t.Errorf("the panic of the tool is not shown:\n%s", all)
			}
		})
	}
}

func filesBelow(t *testing.T, dir string) string {
	var all strings.Builder
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestNoJournalHoldsAKey reads the journal of a turn, and all that it refers to.
func TestNoJournalHoldsAKey(t *testing.T) {
	const key = "sk-of-a-journal-0123456789"
	var told string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		told = fmt.Sprint(r.Header, string(body), err)
		if _, err := io.WriteString(w, `{"choices":[{"message":{"content":"an answer"},"finish_reason":"stop"}]}`); err != nil {
			t.Error(err)
		}
	}))
	defer service.Close()
	config := filepath.Join(t.TempDir(), "panel.yaml")
	if err := os.WriteFile(config, []byte(`agent: {backend: {type: openai, model: m, base_url: "`+service.URL+`/v1?sig=`+key+`",
  api_key: `+key+`, headers: {X-Custom: `+key+`}, extra_body: {token: `+key+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := testProgram(t)
	p.Options.Panel.Config = config
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.once(t.Context(), "question"); err != nil || strings.Count(told, key) != 3 {
		t.Fatalf("%v, and the service was told %s", err, told)
	}
	events, err := s.store.Sessions.Journal(t.Context(), s.chat.id, 1, 0)
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	refs := regexp.MustCompile(`"sha256":"([0-9a-f]{64})","bytes":([0-9]+)`)
	journal := string(bytes.Join(events, nil))
	for _, m := range refs.FindAllStringSubmatch(journal, -1) {
		size, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		blob, err := s.store.Sessions.Get(t.Context(), blob.Ref{SHA256: m[1], Bytes: size})
		if err != nil {
			t.Fatal(err)
		}
		journal += "\n" + string(blob)
	}
	if strings.Contains(journal, key) || !strings.Contains(journal, "an answer") {
		t.Errorf("the journal has a key, or not the answer:\n%s", journal)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// TestKeysThatNobodyUsesAreHidden: a model may have been told them.
func TestKeysThatNobodyUsesAreHidden(t *testing.T) {
	values := map[string]string{
		"GEMINI_API_KEY": "key-of-gemini", "GOOGLE_API_KEY": "key-of-google", "MISTRAL_API_KEY": "key-of-mistral",
		"https_proxy": "http://me:word-of-a-proxy@proxy:3128", "HTTP_PROXY": "me:other-word-of-it@proxy:3128",
	}
	p := testProgram(t)
	p.Env.Lookup = func(name string) (string, bool) { return values[name], values[name] != "" }
	p.Options.Panel.Backend = providers.Demo
	s, err := openSession(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Console.Secrets.Redact("key-of-gemini key-of-google key-of-mistral word-of-a-proxy other-word-of-it"); got != "*** *** *** *** ***" {
		t.Errorf("got %s", got)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
