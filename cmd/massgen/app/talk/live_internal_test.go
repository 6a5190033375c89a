package talk

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
)

// TestLiveLines runs the scripts in testdata/live. A line of a script is an event, at a second:
// SECOND AGENT WHAT [QUOTED TEXT]. The command "lines" draws what follows from them.
func TestLiveLines(t *testing.T) {
	datadriven.Walk(t, "testdata/live", func(t *testing.T, path string) {
		start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		var l *liveLines
		var now time.Time
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "agents":
				l, now = newLiveLines(report.NewState(strings.Fields(d.Input)...)), start
				l.isStreamed = d.HasArg("streamed")
			case "events":
				for line := range strings.Lines(d.Input) {
					words := strings.SplitN(strings.TrimSpace(line), " ", 4)
					second, err := strconv.Atoi(words[0])
					if err != nil {
						d.Fatalf(t, "%q: %v", line, err)
					}
					now = start.Add(time.Duration(second) * time.Second)
					text := ""
					if len(words) > 3 {
						if text, err = strconv.Unquote(words[3]); err != nil {
							d.Fatalf(t, "%q: %v", line, err)
						}
					}
					l.state.Apply(report.Stamp(liveEvent(words[1], words[2], text), now, false))
				}
			case "lines":
				var width, height int
				d.ScanArgs(t, "width", &width)
				d.ScanArgs(t, "height", &height)
				lines := l.lines(now, width, height, func(text string) string { return strings.ReplaceAll(text, "sk-secret", "***") })
				for _, line := range lines {
					if got := ansi.StringWidth(line); got > width {
						t.Errorf("%q has %d columns", line, got)
					}
				}
				return strings.Join(lines, "\n") + "\n"
			}
			return ""
		})
	})
}

// liveEvent is an event of an agent. Calls and steps take 1,000 tokens in and 50 out.
func liveEvent(agent, what, text string) report.Event {
	actor := report.Actor{Agent: agent}
	used := budget.Usage{Calls: 1, InputTokens: 1000, OutputTokens: 50}
	end := report.StepEnd{Actor: actor, Elapsed: 7 * time.Second, Usage: used}
	events := map[string]report.Event{
		"starts": report.StepStarted{Actor: actor}, "calls": report.CallStarted{Actor: actor}, "called": report.CallEnded{Actor: actor, Usage: used},
		"writes": report.TextDelta{Actor: actor, Text: text}, "thinks": report.Thinking{Actor: actor, Text: text},
		"uses": report.ToolStarted{Actor: actor, Tool: report.ToolCall{Name: text}}, "used": report.ToolEnded{Actor: actor},
		"retries": report.Retrying{Actor: actor}, "falls-back": report.FellBack{Actor: actor}, "waits": report.HeldUp{Actor: actor},
		"answers": report.Answered{StepEnd: end, Label: text}, "answers-late": report.Answered{StepEnd: end, Void: text},
		"votes": report.Voted{StepEnd: end, Label: text}, "votes-late": report.Voted{StepEnd: end, Label: text, Void: "late"},
		"abstains": report.Abstained{StepEnd: end}, "fails": report.Failed{StepEnd: end}, "is-cancelled": report.Cancelled{StepEnd: end},
		"presents":   report.Presented{StepEnd: end},
		"summarizes": report.SidecallStarted{Actor: actor}, "summarized": report.SidecallEnded{Actor: actor},
	}
	ev, ok := events[what]
	if !ok {
		panic(fmt.Sprintf("there is no event %s", what))
	}
	return ev
}

// TestLiveLinesFit whatever the agents write, and obey nothing of it.
func TestLiveLinesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLiveLines(report.NewState("a", "日本語", "c"))
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			agent := rapid.SampledFrom([]string{"a", "日本語", "c", "nobody"}).Draw(t, "agent")
			what := rapid.SampledFrom([]string{"starts", "writes", "thinks", "uses", "answers"}).Draw(t, "what")
			l.state.Apply(liveEvent(agent, what, rapid.String().Draw(t, "text")))
		}
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(0, 5).Draw(t, "height")
		lines := l.lines(time.Now(), width, height, func(text string) string { return text })
		if len(lines) > height {
			t.Fatalf("%d lines on a screen of %d: %q", len(lines), height, lines)
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > width || strings.ContainsFunc(line, plain.IsControl) {
				t.Fatalf("%d columns: %q", width, line)
			}
		}
	})
}

// TestStreamedAnswersLookAsWhole: drawn block by block as it comes, an answer has the lines that
// it has as a whole.
func TestStreamedAnswersLookAsWhole(t *testing.T) {
	data, err := os.ReadFile("../testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	want := strings.Join(markdown.Render(text, 80, true), "\n")
	rapid.Check(t, func(t *rapid.T) {
		var s answerStream
		var parts []string
		show := func(part string) {
			if strings.TrimSpace(part) != "" {
				parts = append(parts, strings.Join(markdown.Render(part, 80, true), "\n"))
			}
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "bytes")
			s.add(rest[:n])
			rest = rest[n:]
			show(s.take())
		}
		if len(parts) < 5 {
			t.Fatalf("only %d parts were shown before the end", len(parts))
		}
		show(s.takeAll())
		if got := strings.Join(parts, "\n\n"); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		if !s.isShown(text) || s.isShown(text+"x") {
			t.Fatal("the stream does not know what it has shown")
		}
	})
}

func TestStreamsEndWhereBlocksDo(t *testing.T) {
	for text, want := range map[string]string{
		"one\n\n":                       "",
		"one\n\ntwo":                    "one\n\n",
		"one\n\n-":                      "",
		"one\n\n- two":                  "",
		"one\n\n**":                     "one\n\n",
		"1. a\n\n2":                     "",
		"1. a\n\n2. b\n\nend":           "1. a\n\n2. b\n\n",
		"- a\n\n  b\n\n\tc":             "",
		"```\na\n\nb":                   "",
		"```\na\n\nb\n```\n\nc":         "```\na\n\nb\n```\n\n",
		"````\n```\n\nb\n````\n\nc":     "````\n```\n\nb\n````\n\n",
		"- a\n  ```\n  b\n\n  ```\n\nc": "- a\n  ```\n  b\n\n  ```\n\n",
		"a\n\n```go\nb\n\nc":            "a\n\n",
	} {
		s := answerStream{text: text}
		if got := s.take(); got != want {
			t.Errorf("%q: shown is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"a\n\n```go\nb\n\nc": "```go\nb\n\nc\n```", "~~~~\nx\n": "~~~~\nx\n~~~~", `{"name":`: ""} {
		s := answerStream{text: text}
		s.take()
		if got := s.rest(); got != want {
			t.Errorf("%q: the rest is %q, want %q", text, got, want)
		}
	}
	if half := (answerStream{text: "a"}); half.isShown("a") {
		t.Error("an answer is said to be shown that is not")
	}
	raw := answerStream{text: "a\nb", isRaw: true}
	if got := raw.take(); got != "a\n" || raw.rest() != "b" {
		t.Errorf("of raw lines %q is shown, %q is left", got, raw.rest())
	}
}

// shortWriter takes so many writes, and refuses all later ones.
type shortWriter int

func (w *shortWriter) Write(p []byte) (int, error) {
	if *w--; *w < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestLostPartsAreNotPrinted: an answer of whose parts the terminal did not take all does not count as printed, so
// that the turn's end writes it again, and says why it cannot.
func TestLostPartsAreNotPrinted(t *testing.T) {
	for taken := range 3 {
		out := shortWriter(taken)
		a := &streamedAnswer{out: &out, stream: answerStream{isRaw: true}, render: func(text string, _ int) string { return text }}
		a.stream.add("one\ntwo")
		a.print(a.stream.take(), 80)
		a.print(a.stream.takeAll(), 80)
		l := &liveScreen{answer: a}
		if got, want := l.hasPrinted("one\ntwo"), taken == 2; got != want {
			t.Errorf("with %d of 2 parts taken, the answer is printed: %v, want %v", taken, got, want)
		}
	}
}
