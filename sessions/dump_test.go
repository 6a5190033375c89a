package sessions_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// dumped is an exported session with something of everything in it.
func dumped(t testing.TB) []byte {
	t.Helper()
	m, ctx := sessions.NewMemory(), t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for turn, e := range []sessions.Ended{
		{Status: kernel.Completed, Winner: "a", Answer: "first"},
		{Status: kernel.AllFailed},
		{Status: kernel.Completed, Winner: "a", Answer: "third", MessageCount: 3, Usage: budget.Usage{Calls: 1, InputTokens: 5}},
		{},
	} {
		_, err := m.Begin(ctx, "s", fmt.Sprint("question ", turn))
		ok(err)
		ref, err := m.Put(ctx, fmt.Appendf(nil, "text\xff %d", turn))
		ok(err)
		ok(m.Append(ctx, "s", turn+1, fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes)))
		ok(m.Append(ctx, "s", turn+1, []byte("no JSON")))
		if e.MessageCount > 0 {
			e.Messages = ref
		}
		if e.Status != "" {
			ok(m.End(ctx, "s", turn+1, e))
		}
	}
	var b bytes.Buffer
	ok(m.Export(ctx, "s", &b))
	return b.Bytes()
}

// sealed gives lines the end that fits them, so that what is wrong with them is
// found by looking at them.
func sealed(lines []string) string {
	text := strings.Join(lines, "")
	sum := sha256.Sum256([]byte(text))
	return text + fmt.Sprintf(`{"type":"end","lines":%d,"sha256":"%s"}`, len(lines), hex.EncodeToString(sum[:])) + "\n"
}

// TestListOfLinesIsReadBack: it is one JSON document, which may be formatted in another way, and says
// the same as the lines.
func TestListOfLinesIsReadBack(t *testing.T) {
	data := dumped(t)
	document := slices.Concat([]byte("["), bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), []byte(",\n")), []byte("]\n"))
	var list []json.RawMessage
	if err := json.Unmarshal(document, &list); err != nil || len(list) != bytes.Count(data, []byte("\n")) {
		t.Fatalf("%d items, %v", len(list), err)
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{document, spaced.Bytes()} {
		d, err := sessions.ReadDump(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := d.Write(&again); err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Errorf("it is read as\n%s", again.Bytes())
		}
	}
	for _, wrong := range []string{string(document[:len(document)-3]), string(document) + "{}", "[]", "[1]"} {
		if _, err := sessions.ReadDump(strings.NewReader(wrong)); err == nil {
			t.Errorf("%.20q… is read", wrong)
		}
	}
}

func TestReadDumpLooksBehindTheEnd(t *testing.T) {
	data := string(dumped(t))
	lines := strings.SplitAfter(strings.TrimSpace(data), "\n")
	lines = lines[:len(lines)-1]
	if sealed(lines) != data {
		t.Fatalf("the end is not what it should be:\n%s", data)
	}
	running := data[strings.Index(data, `"status":"running"`):]
	for _, c := range []struct{ old, changed, want string }{
		{`"number":2`, `"number":3`, "turn 2: its number is 3"},
		{`"answer":"first"`, `"answer":"other"`, "turn 1: its link is not that of its question and answer"},
		{`"question":"question 0"`, `"question":"other"`, "turn 1: its link is not that"},
		{`"winner":"a"`, `"winner":""`, "turn 1: the answer has no winner"},
		{`"status":"failed"`, `"status":"running"`, "turn 2: it never ended, but has an answer or a turn after it"},
		{running, strings.Replace(running, `"calls":0`, `"calls":2`, 1), "turn 4: it never ended, but has a usage"},
		{`"status":"failed"`, `"status":""`, `turn 2: a turn cannot end with the status ""`},
		{`"message_count":2`, `"message_count":4`, "turn 1: its messages do not fit its answer"},
		{`"calls":0`, `"calls":-1`, "turn 1: its usage is below zero"},
		{`"cost_usd":null},"message_count"`, `"cost_usd":null,"reasoning_tokens":-1},"message_count"`, "turn 1: its usage is below zero"},
		{`"calls":0`, `"calls":4611686018427387904`, "turn 1: its usage is below zero, or more than can be"},
		{`"cost_usd":null},"message_count"`, `"cost_usd":-1},"message_count"`, "turn 1: its usage is below zero"},
		{`"cost_usd":null},"message_count"`, `"cost_usd":1e308},"message_count"`, "turn 1: its usage is below zero, or more than can be"},
		{`"title"`, `"parent_turn":5,"title"`, "its turns up to 5 are said to be its parent's, and it has 4"},
		{`"id":"s"`, `"id":""`, "the session's id is empty"},
		{`"title":"question 0"`, `"title":"a\nb"`, "control characters"},
		{`"format":1`, `"format":7`, "it has format 7, and this program reads format 1: update it"},
		{lines[1], "", "is missing"},
		{lines[1], lines[1] + `{"type":"text","sha256":"` + sessions.RefOf([]byte("x")).SHA256 + `","text":"x"}` + "\n", "is named by no turn"},
		{lines[1], `{"type":"text","sha256":"00","text":"x"}` + "\n", "line 2: the text is not the one that was exported"},
		{lines[1], `{"type":"turn"}` + "\n", `line 2: a line of type "turn" is unknown, or lacks what it is for`},
		{lines[1], `{"type":"event","event":{}}` + "\n", "line 2: an event is empty or stands before its turn"},
		{lines[1], `{"type":"text","more":1}` + "\n", "line 2: it is not of an exported session"},
		{lines[1], "\n" + lines[1], "line 2: it is empty, and an exported session has empty lines only after its end"},
		{lines[0], "# A title\n", "line 1: it is not of an exported session: it looks like Markdown"},
		{strings.Join(lines[1:], ""), "", "the session has no turns"},
	} {
		changed := strings.Replace(data, c.old, c.changed, 1)
		if changed == data {
			t.Fatalf("%q is not in the export", c.old)
		}
		list := strings.SplitAfter(strings.TrimSpace(changed), "\n")
		_, err := sessions.ReadDump(strings.NewReader(sealed(list[:len(list)-1])))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "import: ") {
			t.Errorf("with %.60q: %v, want %q", c.changed, err, c.want)
		}
	}
}

func TestReadDumpTakesEmptyLinesAfterTheEnd(t *testing.T) {
	data := string(dumped(t))
	if _, err := sessions.ReadDump(strings.NewReader(data + "\n \r\n\n")); err != nil {
		t.Error(err)
	}
	_, err := sessions.ReadDump(strings.NewReader(data + "\n{}\n"))
	if err == nil || !strings.Contains(err.Error(), "there is data after the end line") {
		t.Errorf("with data after the end: %v", err)
	}
}

// full is a disk that is full after so many bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestExportSaysThatItFailed(t *testing.T) {
	t.Parallel()
	data := dumped(t)
	d, err := sessions.ReadDump(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for room := 0; room < len(data); room += 50 {
		f := full(room)
		if err := d.Write(&f); err == nil || err.Error() != "export: disk full" {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}

// FuzzReadDump reads anything, also with an end that fits; what it takes is
// written as it was read.
func FuzzReadDump(f *testing.F) {
	f.Add(`{"type":"session","format":1,"session":{"id":"s"}}
{"type":"text","sha256":"` + sessions.RefOf([]byte("x")).SHA256 + `","text":"x"}
{"type":"turn","turn":{"number":1,"status":"running"}}
{"type":"event","event":{"sha256":"` + sessions.RefOf([]byte("x")).SHA256 + `","bytes":1}}
{"type":"event","base64":"/w=="}
{"type":"end"}
`)
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.SplitAfter(strings.TrimSpace(text), "\n")
		for _, text := range []string{text, sealed(lines[:len(lines)-1])} {
			d, err := sessions.ReadDump(strings.NewReader(text))
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("not one line: %q", err)
				}
				continue
			}
			var b bytes.Buffer
			if err := d.Write(&b); err != nil {
				t.Fatal(err)
			}
			again, err := sessions.ReadDump(&b)
			if err != nil {
				t.Fatalf("what was read cannot be read again: %v", err)
			}
			if diff := cmp.Diff(d, again); diff != "" {
				t.Errorf("read again it differs (-first +second):\n%s", diff)
			}
		}
	})
}
