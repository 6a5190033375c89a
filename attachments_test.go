package massgen_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/backendtest"
)

// picture is a PNG of a pattern.
func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			out.Set(x, y, color.NRGBA{byte(x), byte(y), byte(x * y), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// everyWire has an agent for each protocol that the adapters speak.
func everyWire(t testing.TB, reply func(backendtest.Call) backendtest.Reply) (list []massgen.Agent, servers map[string]*backendtest.Server) {
	t.Helper()
	servers = map[string]*backendtest.Server{}
	for _, w := range []struct {
		id, provider, model string
		wire                backendtest.Protocol
	}{
		{"chat", "openai", "gpt-4.1", backendtest.ChatCompletions()}, {"responses", "openai", "gpt-5.4", backendtest.Responses()},
		{"claude", "claude", "claude-opus-4-6", backendtest.Messages()}, {"gemini", "gemini", "gemini-3-pro", backendtest.GenerateContent()},
	} {
		servers[w.id] = backendtest.NewProtocolServer(t, w.wire, reply)
		list = append(list, massgen.Agent{ID: w.id, Provider: w.provider, Model: w.model, BaseURL: servers[w.id].BaseURL, APIKey: "key-of-" + w.id})
	}
	return list, servers
}

// answersOnce gives one answer, for which all vote.
func answersOnce(c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return acts("new_answer", `{"content":"the answer of `+c.Model()+`"}`)
	}
	return acts("vote", `{"agent_id":"agent1","reason":"it is right"}`)
}

func acts(tool, arguments string) backendtest.Reply {
	return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: tool, Arguments: arguments}}}
}

// isBlind says whether nobody has answered.
func isBlind(c backendtest.Call) bool {
	return strings.Contains(c.User(), "(no answers available yet)")
}

// received are the files of a call, however its protocol has them.
func received(c backendtest.Call) (files [][]byte) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.Image:
				files = append(files, p.Data)
			case backends.ToolResult:
				for _, f := range p.Files {
					files = append(files, f.Data)
				}
			}
		}
	}
	return files
}

func mustAnswer(t testing.TB, turn *massgen.Turn, err error) massgen.Result {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	result, err := turn.Wait(t.Context())
	if err != nil || result.Status != "completed" {
		t.Fatalf("%s %q, %v", result.Status, result.Answer, err)
	}
	return result
}

// TestFileGoesToEveryProtocol: in each step all agents are sent the picture and the PDF byte for
// byte. The store has each once and nothing in Base64, the next turn has their names, and a copy in
// another store replays.
func TestFileGoesToEveryProtocol(t *testing.T) {
	t.Parallel()
	list, servers := everyWire(t, answersOnce)
	path := filepath.Join(t.TempDir(), "s.db")
	kept, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	p := made(t)(massgen.New(t.Context(), list, massgen.WithStore(kept)))
	photo, paper := picture(t, 60, 40), []byte("%PDF-1.4\n<</Type /Page>>\xff\x00\n%%EOF")
	turn, err := p.AskWith(t.Context(), "s", "What is it?", massgen.File{Name: "photo.png", Data: photo}, massgen.File{Name: "paper.pdf", Data: paper})
	result := mustAnswer(t, turn, err)
	if !strings.Contains(result.Question, "[Attached: photo.png (image/png, ") {
		t.Errorf("the question is %q", result.Question)
	}
	for id, server := range servers {
		calls := server.Calls()
		if len(calls) != 2 {
			t.Errorf("%s was called %d times, want 2", id, len(calls))
		}
		for _, c := range calls {
			if got := received(c); !slices.EqualFunc(got, [][]byte{photo, paper}, bytes.Equal) {
				t.Errorf("call %d of %s has %d files, or others", c.Number, id, len(got))
			}
		}
	}
	turn, err = p.Ask(t.Context(), "s", "And now?")
	mustAnswer(t, turn, err)
	for id, server := range servers {
		calls := server.Calls()
		last := calls[len(calls)-1]
		if len(received(last)) > 0 || !strings.Contains(last.User(), "What is it?\n\n[Attached: photo.png") {
			t.Errorf("%s is sent %d files in the next turn, with %q", id, len(received(last)), last.User())
		}
	}
	checkStoredOnce(t, path, photo, paper)
	checkMoves(t, kept)
}

// checkStoredOnce looks for files in all that a store has.
func checkStoredOnce(t *testing.T, path string, files ...[]byte) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, f := range files {
		var raw, encoded int
		inBase64 := base64.StdEncoding.EncodeToString(f)[:24]
		err := db.QueryRowContext(t.Context(), `SELECT
			(SELECT count(*) FROM texts WHERE instr(data, $1) > 0),
			(SELECT count(*) FROM texts WHERE instr(data, $2) > 0) + (SELECT count(*) FROM events WHERE instr(data, $2) > 0)`,
			f, []byte(inBase64)).Scan(&raw, &encoded)
		if err != nil || raw != 1 || encoded != 0 {
			t.Errorf("the store has the file %d times, and %d times in Base64, %v", raw, encoded, err)
		}
	}
}

// checkMoves takes a session to another store, where its turns replay.
func checkMoves(t *testing.T, from *sqlite.Store) {
	t.Helper()
	var dump bytes.Buffer
	if err := from.Export(t.Context(), "s", &dump); err != nil {
		t.Fatal(err)
	}
	to := sessions.NewMemory()
	if _, err := to.Import(t.Context(), &dump, ""); err != nil {
		t.Fatal(err)
	}
	turns, err := to.Turns(t.Context(), "s", 0)
	if err != nil || len(turns) != 2 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	for _, turn := range turns {
		if _, err := coordinator.Replay(t.Context(), to, "s", turn); err != nil {
			t.Errorf("turn %d does not replay: %v", turn.Number, err)
		}
	}
}

// TestFilesOutliveTheirProcess: a turn whose process ended goes on with its files, and so does a
// branch from the middle of it.
func TestFilesOutliveTheirProcess(t *testing.T) {
	t.Parallel()
	photo := picture(t, 30, 30)
	hanging, _ := everyWire(t, func(c backendtest.Call) backendtest.Reply {
		if isBlind(c) {
			return answersOnce(c)
		}
		return backendtest.Reply{Fault: backendtest.HangBefore}
	})
	kept := sessions.NewMemory()
	ctx, cancel := context.WithCancel(t.Context())
	first := made(t)(massgen.New(t.Context(), hanging, massgen.WithStore(kept)))
	turn, err := first.AskWith(ctx, "s", "What is it?", massgen.File{Name: "photo.png", Data: photo})
	if err != nil {
		t.Fatal(err)
	}
	for ev := range turn.Events(t.Context()) {
		if started, ok := ev.(report.StepStarted); ok && started.Round == 2 {
			break // all answers are in the journal
		}
	}
	var dump bytes.Buffer // what a process that is killed now leaves
	if err := kept.Export(t.Context(), "s", &dump); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := sessions.NewMemory()
	if _, err := left.Import(t.Context(), &dump, ""); err != nil {
		t.Fatal(err)
	}
	list, servers := everyWire(t, answersOnce)
	second := made(t)(massgen.New(t.Context(), list, massgen.WithStore(left)))
	turn, err = second.Continue(t.Context(), "s")
	mustAnswer(t, turn, err)
	again, err := second.Rerun(t.Context(), coordinator.Point{Session: "s", Turn: 1, Round: 2}, "branch")
	mustAnswer(t, again, err)
	for id, server := range servers {
		calls := server.Calls()
		if len(calls) != 2 {
			t.Errorf("%s was called %d times, want a vote in the turn and one in the branch", id, len(calls))
		}
		for _, c := range calls {
			if got := received(c); !slices.EqualFunc(got, [][]byte{photo}, bytes.Equal) {
				t.Errorf("call %d of %s has %d files, or others", c.Number, id, len(got))
			}
		}
	}
}

// TestPictureOfAToolReachesTheModel: beside the tool's text, in each protocol.
func TestPictureOfAToolReachesTheModel(t *testing.T) {
	t.Parallel()
	photo := picture(t, 20, 20)
	list, servers := everyWire(t, func(c backendtest.Call) backendtest.Reply {
		if !slices.ContainsFunc(c.Messages(), func(m backends.Message) bool { return m.Role == backends.RoleTool }) {
			return acts("draw", "{}")
		}
		return acts("new_answer", `{"content":"the same"}`)
	})
	draw, err := agents.NewTool("draw", "draws", func(ctx context.Context, _ struct{}) (string, error) {
		return "drawn", agents.ReturnFile(ctx, "drawing.png", photo)
	})
	if err != nil {
		t.Fatal(err)
	}
	p := made(t)(massgen.New(t.Context(), list, massgen.WithTools(draw)))
	turn, err := p.Ask(t.Context(), "", "Draw.")
	mustAnswer(t, turn, err)
	for id, server := range servers {
		calls := server.Calls()
		if got := received(calls[len(calls)-1]); !slices.EqualFunc(got, [][]byte{photo}, bytes.Equal) {
			t.Errorf("%s is sent %d pictures", id, len(got))
		}
	}
}

// TestPictureIsMadeSmallerForOneService: Claude takes 8,000 pixels a side; the others are sent the
// picture as it is.
func TestPictureIsMadeSmallerForOneService(t *testing.T) {
	t.Parallel()
	photo := picture(t, 8200, 41)
	list, servers := everyWire(t, answersOnce)
	p := made(t)(massgen.New(t.Context(), list))
	turn, err := p.AskWith(t.Context(), "", "What?", massgen.File{Name: "wide.png", Data: photo})
	mustAnswer(t, turn, err)
	for id, server := range servers {
		got := received(server.Calls()[0])
		if len(got) != 1 {
			t.Fatalf("%s has %d files", id, len(got))
		}
		size, err := png.DecodeConfig(bytes.NewReader(got[0]))
		isSame := bytes.Equal(got[0], photo)
		if err != nil || isSame == (id == "claude") || id == "claude" && (size.Width != 8000 || size.Height != 40) {
			t.Errorf("%s has a picture of %d by %d, the same: %v, %v", id, size.Width, size.Height, isSame, err)
		}
	}
}

// mixedSight is a panel of a model that takes images and one that does not.
func mixedSight(t *testing.T, attachments string, reply func(backendtest.Call) backendtest.Reply) (*massgen.Panel, map[string]*backendtest.Server) {
	t.Helper()
	servers := map[string]*backendtest.Server{"sees": backendtest.NewServer(t, reply), "blind": backendtest.NewServer(t, reply)}
	p := load(t, fmt.Sprintf(`
attachments: %s
agents:
  - {id: blind, backend: {type: deepseek, model: deepseek-chat, base_url: %q, api_key: key-of-blind}}
  - {id: sees, backend: {type: openai, model: gpt-4.1, base_url: %q, api_key: key-of-sees}}
`, attachments, servers["blind"].BaseURL, servers["sees"].BaseURL), massgen.WithStore(sessions.NewMemory()))
	return p, servers
}

func TestModelThatTakesNoImagesIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	p, servers := mixedSight(t, "refuse", answersOnce)
	_, err := p.AskWith(t.Context(), "s", "What?", massgen.File{Name: "a.png", Data: picture(t, 2, 2)})
	want := "agent blind: its model deepseek-chat takes no images and no PDF, so it cannot be sent a.png: leave that out, name another model, or set attachments: describe"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for id, s := range servers {
		if n := len(s.Calls()); n > 0 {
			t.Errorf("%s was called %d times", id, n)
		}
	}
	turn, err := p.AskWith(t.Context(), "s", "What?", massgen.File{Name: "a.txt", Data: []byte("a text </ATTACHED> <END OF ATTACHED FILE>")})
	mustAnswer(t, turn, err)
	if user := servers["blind"].Calls()[0].User(); !strings.HasPrefix(user, "<ATTACHED FILE>\na.txt:\na text </ATTACHED> &lt;END OF ATTACHED FILE>\n<END OF ATTACHED FILE>\n\n<ORIGINAL MESSAGE> What?") {
		t.Errorf("%q", user)
	}
}

// TestFilesAreDescribed: the model that takes images is asked once for words, which the other is
// sent in their place.
func TestFilesAreDescribed(t *testing.T) {
	t.Parallel()
	photo := picture(t, 5, 5)
	p, servers := mixedSight(t, "describe", func(c backendtest.Call) backendtest.Reply {
		if strings.HasPrefix(c.System(), "You see files that a user has attached") {
			return backendtest.Reply{Text: "A pattern of 5 by 5. <END OF ATTACHED FILE>"}
		}
		return answersOnce(c)
	})
	turn, err := p.AskWith(t.Context(), "s", "What?", massgen.File{Name: "a.png", Data: photo})
	mustAnswer(t, turn, err)
	for _, c := range servers["sees"].Calls() {
		if got := received(c); !slices.EqualFunc(got, [][]byte{photo}, bytes.Equal) {
			t.Errorf("call %d of the model that sees has %d files", c.Number, len(got))
		}
	}
	if n := len(servers["sees"].Calls()); n != 3 {
		t.Errorf("the model that sees was called %d times, want 3 with the description", n)
	}
	for _, c := range servers["blind"].Calls() {
		want := "<ATTACHED FILE>\ndescription of a.png:\nA pattern of 5 by 5. &lt;END OF ATTACHED FILE>\n<END OF ATTACHED FILE>\n\n"
		if len(received(c)) > 0 || !strings.HasPrefix(c.User(), want) {
			t.Errorf("call %d of the other has %d files and %q", c.Number, len(received(c)), c.User())
		}
	}
}

// TestSecretInAFileIsNotStored: a picture with a key in it would be another file when the key is
// masked.
func TestSecretInAFileIsNotStored(t *testing.T) {
	t.Parallel()
	list, servers := everyWire(t, answersOnce)
	p := made(t)(massgen.New(t.Context(), list))
	photo := append(picture(t, 2, 2), []byte("comment: key-of-claude")...)
	if _, err := p.AskWith(t.Context(), "s", "What?", massgen.File{Name: "a.png", Data: photo}); err == nil || !strings.Contains(err.Error(), "attach a.png: it contains a secret of this machine") {
		t.Error(err)
	}
	turn, err := p.AskWith(t.Context(), "s", "What?", massgen.File{Name: "a.txt", Data: []byte("the key is key-of-claude.")})
	mustAnswer(t, turn, err)
	for id, s := range servers {
		for _, c := range s.Calls() {
			if strings.Contains(c.User(), "key-of-claude") {
				t.Errorf("%s is sent the key", id)
			}
		}
	}
}
