package picture_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/internal/picture"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

var update = flag.Bool("update", false, "write the drawings in testdata anew")

// scenes are the turns that are drawn.
var scenes = map[string]func(*testing.T) *world{"panel": panel, "eager": eager, "interrupted": interrupted, "alone": alone, "crowd": crowd, "judged": judged}

// TestDrawings compares the drawings of all scenes with those in testdata. go test -update writes them.
func TestDrawings(t *testing.T) {
	for name, scene := range scenes {
		p := scene(t).draw()
		check(t, name+".txt", picture.Terminal(p, picture.Screen{Width: 80, Height: 24}))
		if name == "crowd" {
			continue
		}
		check(t, name+".40.txt", picture.Terminal(p, picture.Screen{Width: 40}))
		check(t, name+".svg", picture.SVG(p))
	}
	p := panel(t).draw()
	check(t, "panel.200.txt", picture.Terminal(p, picture.Screen{Width: 200}))
	check(t, "panel.colour.txt", picture.Terminal(p, picture.Screen{Width: 80, Colour: true}))
	check(t, "panel.html", page(t, p))
	check(t, "judged.html", page(t, judged(t).draw()))
}

func page(t testing.TB, p picture.Picture) string {
	t.Helper()
	text, err := picture.HTML(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func check(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

// TestPictureOfAPanel: bars and marks stand where the journal has their events.
func TestPictureOfAPanel(t *testing.T) {
	p := panel(t).draw()
	if !p.Over || p.WinnerLabel != "cyd.2" || p.Length != 6*time.Second || p.Question != "How much of the world's power is renewable?" {
		t.Errorf("the turn is %v %q, %v, %q", p.Over, p.WinnerLabel, p.Length, p.Question)
	}
	if got := fmt.Sprint(p.Rounds); got != "[{round 1 0s} {round 2 3s} {round 3 4.8s}]" {
		t.Errorf("the rounds are %s", got)
	}
	var calls []string
	for _, i := range p.Lanes[1].Calls {
		c := p.Calls[i]
		calls = append(calls, fmt.Sprintf("%d: %v-%v %s", c.Key.Round, c.From, c.To, c.End))
	}
	if want := []string{"1: 0s-2.6s done", "2: 3s-4s lost", "2: 4s-4.3s done", "3: 4.8s-5.6s done"}; !slices.Equal(calls, want) {
		t.Errorf("the calls of bob are %q", calls)
	}
	var marks []string
	for _, m := range p.Lanes[0].Marks {
		marks = append(marks, fmt.Sprintf("%v %s %s %d %v", m.At, m.Kind, m.Label, m.Target, m.Void))
	}
	if want := []string{"2s answer ada.1 0 false", "3.6s vote bob.1 1 true", "5.4s vote cyd.2 2 false"}; !slices.Equal(marks, want) {
		t.Errorf("the marks of ada are %q", marks)
	}
	if len(p.Tools) != 1 || p.Tools[0].From != 800*time.Millisecond || p.Tools[0].To != 1200*time.Millisecond || p.Tools[0].Arguments != `{"query":"share of renewables"}` || p.Tools[0].Result != "30 percent" {
		t.Errorf("the tool calls are %+v", p.Tools)
	}
	if dan := p.Lanes[3]; dan.State != "failed" || dan.Error != "the stream was cut" || p.Calls[dan.Calls[0]].Why != "timeout" {
		t.Errorf("dan is %+v", dan)
	}
}

// TestPictureOfAJudgement: a judge outside of the panel has a lane with its call, and the analysis names answers by
// their labels.
func TestPictureOfAJudgement(t *testing.T) {
	p := judged(t).draw()
	if len(p.Lanes) != 3 || p.WinnerLabel != "bob.1" || p.Analysis == nil || p.Analysis.Best != "bob.1" || len(p.Analysis.Items()) != 4 {
		t.Fatalf("%q wins on %d lanes, the analysis is %+v", p.WinnerLabel, len(p.Lanes), p.Analysis)
	}
	judge := p.Lanes[2]
	if judge.Name != "judge" || judge.Model != "model-of-judge" || len(judge.Calls) != 1 || judge.Usage.Calls != 1 {
		t.Errorf("the judge is %+v", judge)
	}
	if len(judge.Marks) != 1 || judge.Marks[0].Kind != picture.JudgeMark || judge.Marks[0].Target != 1 {
		t.Errorf("its marks are %+v", judge.Marks)
	}
}

// TestUnfinishedTurn: a turn without a result has no winner, and its open calls go on to its end.
func TestUnfinishedTurn(t *testing.T) {
	p := interrupted(t).draw()
	last := p.Calls[p.Lanes[1].Calls[1]]
	if p.Over || p.Winner != "" || last.End != picture.CallOpen || last.To != p.Length {
		t.Errorf("the turn is over: %v, its winner is %q, the last call %+v", p.Over, p.Winner, last)
	}
	first := play(t, kernel.PaceRounds, "Why?", "ada", "bob").draw() // killed at once
	if first.Over || first.Length <= 0 || len(first.Calls) != 2 {
		t.Errorf("a turn that only began is %+v", first)
	}
}

// TestEveryWidth: no line is wider than the terminal, and nothing but line breaks controls it.
func TestEveryWidth(t *testing.T) {
	for name, scene := range scenes {
		p := scene(t).draw()
		for width := 40; width <= 300; width++ {
			text := picture.Terminal(p, picture.Screen{Width: width, Height: 30})
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
					t.Fatalf("%s at %d columns has a line of %d: %s", name, width, n, line)
				}
			}
			if strings.Contains(text, "\x1b") {
				t.Fatalf("%s at %d columns has colours", name, width)
			}
		}
	}
}

// TestDamagedJournal: what can be read is drawn, beside an error.
func TestDamagedJournal(t *testing.T) {
	w := panel(t)
	texts := func(ref blob.Ref) ([]byte, error) { return []byte(ref.SHA256), nil }
	journal := slices.Clone(w.journal)
	journal[4] = []byte(`{"type":"nonsense"}`)
	p, err := picture.New(journal, picture.Source{Session: "s", Turn: 1, Texts: texts})
	if err == nil || !strings.Contains(err.Error(), "event 5") || len(p.Lanes) != 4 || len(p.Calls) != 5 {
		t.Errorf("a damaged journal has %d lanes, %d calls and the error %v", len(p.Lanes), len(p.Calls), err)
	}
	if _, err := picture.New(nil, picture.Source{Texts: texts}); err == nil {
		t.Error("an empty journal has a picture")
	}
	if _, err := picture.New(w.journal, picture.Source{Session: "s", Turn: 1}); err == nil {
		t.Error("lost texts are no error")
	}
	foreign, err := turn.Encode(turn.ModelDone{At: began, Key: effect.Key{Agent: 7}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := picture.New(append(journal[:1:1], foreign), picture.Source{Texts: texts}); err == nil {
		t.Error("a reply of nobody is no error")
	}
}
