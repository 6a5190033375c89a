package debugbackend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
	"pgregory.net/rapid"
)

// dumpOne records one call of each key to the folder.
func dumpOne(t *testing.T, o Options, b backends.Backend, reqs ...backends.Request) *Recorder {
	t.Helper()
	rec := NewRecorder(o)
	for _, req := range reqs {
		if _, err := ask(t.Context(), rec.Wrap(b), req); err != nil {
			t.Log(err)
		}
	}
	if err := rec.Err(); err != nil {
		t.Fatal(err)
	}
	return rec
}

// instantly is answering without its pauses.
func instantly(ctx context.Context, yield func(backends.Event, error) bool) {
	trace := backends.TraceFrom(ctx)
	trace.SentRequest([]byte("first \x00"))
	trace.SentRequest([]byte("not \xff\xfe UTF-8"))
	trace.ReceivedChunk([]byte("data: <&>\u2028\r\n"))
	_ = yield(backends.ReasoningDelta{Text: "hm"}, nil) && yield(backends.TextDelta{Text: "é"}, nil) &&
		yield(backends.ToolCall{ID: "1", Name: "vote", Arguments: `{"a":`}, nil) &&
		yield(backends.Opaque{Provider: "p", Model: "m", Data: json.RawMessage(`{"a":1}`)}, nil) &&
		yield(backends.Usage{InputTokens: 3, OutputTokens: 2, CachedInputTokens: 1, ReasoningTokens: 1}, nil) &&
		yield(nil, &backends.Error{Kind: backends.KindOverloaded, Provider: "p", Message: "busy", Status: 529, RetryAfter: 1500 * time.Millisecond, Begun: true})
}

func TestDumpIsReadBackExactly(t *testing.T) {
	dir := t.TempDir()
	rec := dumpOne(t, Options{Dir: dir, Participants: map[string]string{"agent1": "a", "agent2": "b"}}, fakeBackend(instantly), request(1, "a"), request(2, "z"), request(2, "b"), request(2, "b"))
	loaded, err := LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rec.Calls(), loaded); diff != "" {
		t.Error(diff)
	}
	var files []string
	for _, pattern := range []string{"*/*/*", "*/*/.*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			files = append(files, strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/"))
		}
	}
	want := []string{
		"turn-001/a/call-001.json", "turn-001/a/call-001.txt", "turn-002/b/call-001.json",
		"turn-002/b/call-001.txt", "turn-002/b/call-002.json", "turn-002/b/call-002.txt",
		"turn-002/z/call-001.json", "turn-002/z/call-001.txt",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	one, err := LoadFile(filepath.Join(dir, "turn-002", "b", "call-002.json"))
	if err != nil || one.Number != 2 || one.Attempt != 2 {
		t.Errorf("call %d, attempt %d, %v", one.Number, one.Attempt, err)
	}
}

func TestExactBytesRoundTrip(t *testing.T) {
	for in, want := range map[string]string{"": `""`, "a<\n": `"a<\n"`, "\xff": `{"base64":"/w=="}`} {
		if got, err := plain.JSON(exactBytes(in)); err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v, want %s", in, got, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := exactBytes(rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.Just[[]byte](nil),
		).Draw(t, "bytes"))
		data, err := plain.JSON(in)
		if err != nil {
			t.Fatal(err)
		}
		var out exactBytes
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(in, out) || (in == nil) != (out == nil) {
			t.Fatalf("%q came back as %q", in, out)
		}
	})
}

func TestDumpHoldsNoKeys(t *testing.T) {
	dir := t.TempDir()
	echo := fakeBackend(func(ctx context.Context, yield func(backends.Event, error) bool) {
		backends.TraceFrom(ctx).ReceivedChunk([]byte("your key is sk-other-secret\xff"))
		yield(nil, &backends.Error{Kind: backends.KindAuth, Message: "wrong key sk-other-secret"})
	})
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-other-secret", mask) }
	dumpOne(t, Options{Dir: dir, Redact: redact}, echo, request(1, "a"))
	for _, name := range []string{"call-001.json", "call-001.txt"} {
		data, err := os.ReadFile(filepath.Join(dir, "turn-001", "a", name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("secret")) || !bytes.Contains(data, []byte("wrong key [masked]")) || !bytes.Contains(data, []byte(`"Authorization"`)) {
			t.Errorf("%s:\n%s", name, data)
		}
	}
	calls, err := LoadDir(dir)
	if err != nil || string(calls[0].Raw) != "your key is [masked]\xff" {
		t.Errorf("got %q, %v", calls[0].Raw, err)
	}
}

func TestDumpGoesOnFromAnEarlierRun(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		dumpOne(t, Options{Dir: dir}, mustParse(t, "rules:\n- reply: {text: x}"), request(1, "a"), request(1, "A"))
	}
	calls, err := LoadDir(dir)
	if err != nil || len(calls) != 4 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	seen := map[string]bool{}
	for _, c := range calls {
		seen[fmt.Sprint(c.Request.Key.Agent, c.Number)] = true
	}
	if diff := cmp.Diff(map[string]bool{"a1": true, "A2": true, "a2": true, "A3": true}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestDumpsSideBySideKeepEveryCall(t *testing.T) {
	t.Parallel()
	const runs, calls = 4, 20
	dir := t.TempDir()
	var group sync.WaitGroup
	for range runs {
		group.Go(func() {
			rec := NewRecorder(Options{Dir: dir})
			for range calls {
				if _, err := ask(t.Context(), rec.Wrap(fakeBackend(instantly)), request(1, "a")); err == nil {
					t.Error("the call did not fail")
				}
			}
			if err := rec.Err(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	loaded, err := LoadDir(dir)
	if err != nil || len(loaded) != runs*calls {
		t.Errorf("%d calls are there, want %d, %v", len(loaded), runs*calls, err)
	}
}

func TestNumbersThatNoRunComesTo(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "turn-001", "a")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"call-9223372036854775807.json", "call-9223372036854775807.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dumpOne(t, Options{Dir: dir}, fakeBackend(instantly), request(1, "a"))
	if loaded, err := LoadDir(dir); err != nil || len(loaded) != 1 || loaded[0].Number != 1 {
		t.Errorf("%d calls, %v", len(loaded), err)
	}
}

func TestSafeName(t *testing.T) {
	for id, want := range map[string]string{
		"researcher":            "researcher",
		"gpt-4_1":               "gpt-4_1",
		"command":               "command",
		"":                      "-e3b0c442",
		"..":                    "__-5ec1f7e7",
		"a/b":                   "a_b-c14cddc0",
		"é":                     "_-4a99557e",
		"NUL":                   "NUL-ae6de182",
		"Com1":                  "Com1-5bb25012",
		strings.Repeat("x", 49): strings.Repeat("x", 48) + "-55bb9823",
	} {
		if got := safeName(id); got != want {
			t.Errorf("safeName(%q) = %q, want %q", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if (safeName(a) == safeName(b)) != (a == b) {
			t.Fatalf("%q and %q are %q and %q", a, b, safeName(a), safeName(b))
		}
		if name := safeName(a); filepath.Base(name) != name || name[0] == '.' || len(name) > 60 {
			t.Fatalf("%q becomes %q", a, name)
		}
	})
}

func TestCallsWithoutAnAgentHaveAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	req := request(1, "")
	req.Key.Purpose = "title"
	dumpOne(t, Options{Dir: dir}, mustParse(t, "rules:\n- reply: {text: x}"), req)
	if calls, err := LoadDir(dir); err != nil || len(calls) != 1 || calls[0].Request.Key.Purpose != "title" {
		t.Fatalf("%v, %v", calls, err)
	}
}

func TestCheckDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := CheckDir(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := CheckDir(file)
	if want := fmt.Sprintf("the folder for inputs %q cannot be written to: not a directory; name another one", file); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if err := CheckDir("/dev/null/x"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

func TestWriteErrorsAreCollectedAndDoNotFailCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := NewRecorder(Options{Dir: file})
	b := rec.Wrap(mustParse(t, "rules:\n- reply: {text: x}"))
	for i := 1; i <= 3; i++ {
		if _, err := ask(t.Context(), b, request(1, "a")); err != nil {
			t.Fatal(err)
		}
		err := rec.Err()
		var path *os.PathError
		if !errors.As(err, &path) || !strings.HasPrefix(err.Error(), "write the input of turn 1, a, round 1, coordination 0: ") {
			t.Fatalf("got %v", err)
		}
		if more := fmt.Sprintf(" (and %d more)", i-1); strings.HasSuffix(err.Error(), more) != (i > 1) {
			t.Errorf("after %d: %v", i, err)
		}
	}
}

func TestLoadDirNamesForeignAndDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dumpOne(t, Options{Dir: dir}, mustParse(t, "rules:\n- reply: {text: x}"), request(1, "a"))
	path := filepath.Join(dir, "turn-001", "a", "call-001.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, replacement string) string {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(string(good), old, replacement, 1)
	}
	for _, tc := range []struct{ name, content, want string }{
		{"half", string(good[:len(good)-3]), "unexpected end of JSON input"},
		{"empty", "", "unexpected end of JSON input"},
		{"other JSON", `{"name": "x"}`, "it is not the record of a model call"},
		{"list", `[]`, "json: cannot unmarshal array"},
		{"newer", replaced("massgen-input/1", "massgen-input/9"), `its format is "massgen-input/9", and this program reads "massgen-input/1"`},
		{"incomplete", `{"format":"massgen-input/1"}`, "it is incomplete: it has no number or no time"},
		{"unknown event", replaced(`"type":"usage"`, `"type":"use"`), `event of unknown type "use"`},
		{"no event", replaced(`"events":[`, `"events":[{},`), "it has an event without a type"},
		{"bad body", replaced(`"body":"`, `"body":{"base64":"?"},"x":"`), "illegal base64"},
		{"bad error", replaced(`"outcome"`, `"error":{"retry_after":"soon"},"outcome"`), `time: invalid duration "soon"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := LoadDir(dir)
			if err == nil || !strings.Contains(err.Error(), path+" is damaged or not an input of massgen: ") || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLoadDirWithoutInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.json", "call-x.json", "call-001.txt", "call-000.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "there are none in "+dir) {
		t.Errorf("got %v", err)
	}
	if _, err := LoadDir(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "read inputs: ") {
		t.Errorf("got %v", err)
	}
	if _, err := LoadFile(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestEventsOfOtherTypesAreRefused(t *testing.T) {
	if _, err := plain.JSON(eventJSON{}); err == nil {
		t.Error("no event was written")
	}
	var e eventJSON
	for _, in := range []string{`{"type":"tool_call"}`, `{"type":"opaque"}`, `{"type":"usage"}`, `{}`, `[]`} {
		if err := json.Unmarshal([]byte(in), &e); err == nil {
			t.Errorf("%s was read as %v", in, e)
		}
	}
}

func FuzzLoadFile(f *testing.F) {
	call, err := plain.JSON(Call{Number: 1, Start: time.Unix(1, 0).UTC(), Events: []seenEvent{{time.Unix(1, 0).UTC(), eventJSON{backends.TextDelta{Text: "x"}}}}, Body: []byte{0xff}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(call))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, again Call
		if err := json.Unmarshal(data, &c); err != nil {
			return
		}
		written, err := plain.JSON(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
