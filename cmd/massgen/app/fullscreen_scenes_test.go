//go:build linux && tmux

package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// scene is a screen of a turn. Its panel answers the question as its behaviour says, until the screen shows some texts.
type scene struct {
	name     string
	agents   int // of the panel
	question string
	reply    func(c backendtest.Call, agent int) backendtest.Reply
	until    []string
	// keys lead from there to the screen, until it shows then.
	keys []string
	then string
	// isLight reports that the picture of the scene is also taken on a light background.
	isLight bool
}

// scenes are the screens of a turn that TestFullScreenScenes draws.
func scenes() []scene {
	return []scene{
		{name: "begin", agents: 3, until: []string{"Ask a question"}, isLight: true},
		{name: "streaming", agents: 3, question: "How do we store wind power?", reply: streams, until: []string{"● ada writing", "• and someone", "▲ bob ✓", "■ cy waiting", "Pump"}, isLight: true},
		{name: "second-round", agents: 3, question: "Is wind cheaper than sun?", reply: votes, until: []string{"leads with 1 of 1 vote", "● ada writing", "■ cy writing"}},
		{name: "failure-of-one", agents: 3, question: "What does a battery cost?", reply: failsFor(2), until: []string{"2 messages"}},
		{name: "failure-of-all", agents: 3, question: "What does a battery cost?", reply: failsFor(0, 1, 2), until: []string{"no winner"}},
		{name: "end", agents: 3, question: "Wind or sun?", reply: answers(shortAnswer), until: []string{"2 messages"}, isLight: true},
		{name: "long-answer", agents: 3, question: "Tell me all about wind.", reply: answers(longAnswer()), until: []string{"2 messages"}},
		{name: "table", agents: 3, question: "Compare three stores in a table.", reply: answers(tableAnswer), until: []string{"2 messages"}, isLight: true},
		{name: "code", agents: 3, question: "Write a function for it.", reply: answers(codeAnswer), until: []string{"2 messages"}},
		{name: "cjk", agents: 3, question: "风能便宜吗？", reply: answers(wideAnswer), until: []string{"2 messages"}},
		{name: "five", agents: 5, question: "How do we store wind power?", reply: streams, until: []string{"● ada writing", "• and someone", "▲ bob ✓", "■ cy waiting", "Pump"}},
		{name: "twenty", agents: 20, question: "How do we store wind power?", reply: streams, until: []string{"● a01 writing", "▲ a02 ✓", "■ a03 waiting", "◆ a20 ✓", "a17 ✓", "a14 ✓", "a11 ✓", "a08 ✓", "a05 ✓"}, isLight: true},
		{name: "comparison", agents: 3, question: "Wind or sun?", reply: answers(shortAnswer), until: []string{"2 messages"}, keys: []string{"C-g"}, then: "answers: "},
		{name: "agent", agents: 3, question: "How do we store wind power?", reply: streams, until: []string{"● ada writing", "• and someone", "▲ bob ✓", "■ cy waiting", "Pump"}, keys: []string{"Tab", "Enter"}, then: "Esc closes"},
		{name: "permission", agents: 3, question: "Keep it in a file.", reply: writes, until: []string{"asks to run write_file"}},
		{name: "picker", agents: 3, question: "Wind or sun?", reply: answers(shortAnswer), until: []string{"2 messages"}, keys: []string{"C-s"}, then: "search:"},
	}
}

const (
	shortAnswer = "**Wind** where it blows, *sun* where it shines:\n\n1. On coasts and hills a turbine yields most.\n2. On roofs, panels do.\n\n> Both together need less storage than either alone."
	tableAnswer = "Three ways to store wind power:\n\n| Store | Hours | Cost per kWh | Good for |\n|---|---:|---:|---|\n| Battery | 1–4 | 150 $ | the evening |\n| Pumped water | 8–20 | 60 $ | a calm day |\n| Hydrogen | 100+ | 15 $ | a calm week |\n\nThe longer it must last, the cheaper each hour has to be."
	codeAnswer  = "The yield of a turbine grows with the *cube* of the wind's speed:\n\n```go\n// Yield returns the power of a turbine in watts.\nfunc Yield(area, speed float64) float64 {\n\tconst air, share = 1.2, 0.4 // kg/m³, and what a rotor takes\n\treturn 0.5 * air * share * area * speed * speed * speed\n}\n```\n\n- `area` is in square metres.\n- `speed` is in metres a second."
	wideAnswer  = "## 简短的回答\n\n是的，**风能**现在是最便宜的电力来源之一。\n\n| 能源 | 成本 |\n|---|---|\n| 风能 | 0.04 $ |\n| 태양광 | 0.05 $ |\n| 石炭 | 0.11 $ |\n\n日本語でも：風は安いです。"
)

func longAnswer() string {
	var b strings.Builder
	b.WriteString("# All about wind\n\nThis answer is longer than the screen, and begins here.\n")
	for i := range 30 {
		fmt.Fprintf(&b, "\n## Part %d\n\nThe wind blows where it wishes, and a turbine turns with it: part %d of the answer says so again.\n", i+1, i+1)
	}
	return b.String()
}

// firstAnswer is an answer of the first round.
func firstAnswer(text string) backendtest.Reply {
	return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, text)}}}
}

// answers has the first agent give a text, the others a shorter one, and all vote for the first.
func answers(text string) func(c backendtest.Call, agent int) backendtest.Reply {
	return func(c backendtest.Call, agent int) backendtest.Reply {
		switch {
		case !isBlind(c):
			return voteFor("agent1")
		case agent == 0:
			return firstAnswer(text)
		}
		return firstAnswer("**Wind**, says everybody on a coast.\n\n1. On coasts a turbine yields most.\n2. On roofs, panels do, if the sun shines.")
	}
}

const halfAnswer = "Storing wind power takes **three** things:\n\n- a store that is *cheap* for each hour,\n- a line to it,\n- and someone who pays.\n\n"

// streams stops in the middle: of three agents one writes, one has answered, and one waits for its first word.
func streams(_ backendtest.Call, agent int) backendtest.Reply {
	switch agent % 3 {
	case 1:
		return firstAnswer("Pump **water** up a hill.\n\n1. It is old.\n2. It is cheap.")
	case 2:
		return backendtest.Reply{Fault: backendtest.HangBefore}
	}
	return backendtest.Reply{Text: strings.Repeat(halfAnswer, 2), Fault: backendtest.HangMidStream}
}

// votes stops in the second round: one has voted, the others write.
func votes(c backendtest.Call, agent int) backendtest.Reply {
	switch {
	case isBlind(c):
		return firstAnswer(fmt.Sprintf("Answer %d: **wind** costs 4 ct, *sun* costs 5 ct.", agent+1))
	case agent == 1:
		return voteFor("agent1")
	}
	return backendtest.Reply{Text: "The first answer gives numbers, and the others do not. " + halfAnswer, Fault: backendtest.HangMidStream}
}

// failsFor refuses the keys of some agents. The others agree.
func failsFor(agents ...int) func(c backendtest.Call, agent int) backendtest.Reply {
	return func(c backendtest.Call, agent int) backendtest.Reply {
		if slices.Contains(agents, agent) {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 401, Message: "Incorrect API key provided"}}
		}
		return answers("A battery costs **150 $** per kWh, and less each year.")(c, agent)
	}
}

// writes has the first agent write a file, which a person must allow.
func writes(c backendtest.Call, agent int) backendtest.Reply {
	if agent == 0 {
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "w", Name: "write_file", Arguments: `{"path":"wind.md","content":"# Wind\n\nIt is cheap.\n"}`}}}
	}
	return streams(c, agent)
}

// ids returns the names of a panel.
func ids(n int) (names []string) {
	if n <= 5 {
		return []string{"ada", "bob", "cy", "dan", "eve"}[:n]
	}
	for i := range n {
		names = append(names, fmt.Sprintf("a%02d", i+1))
	}
	return names
}

// openScene opens a terminal on a background with the panel of a scene, and goes to the screen.
func openScene(t *testing.T, s scene, width, height int, style string) *tmux {
	t.Helper()
	names := ids(s.agents)
	server := backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		r := s.reply(c, slices.Index(names, strings.TrimPrefix(c.Model(), "m-")))
		r.Usage = &backends.Usage{InputTokens: 1200, OutputTokens: 340}
		return r
	})
	t.Cleanup(server.Close)
	var agents []string
	for i, name := range names {
		folder := ""
		if s.name == "permission" && i == 0 {
			folder = ", cwd: work"
		}
		agents = append(agents, fmt.Sprintf("{id: %s, backend: {type: openai, base_url: %q, model: m-%s%s}}", name, server.BaseURL, name, folder))
	}
	panel := "agents: [" + strings.Join(agents, ", ") + "]\n"
	if s.name == "permission" {
		panel += "permissions: {rules: [{action: ask, tool: write_file}]}\n"
	}
	x := openTmuxStyled(t, width, height, style, panel, "mkdir work; %s")
	x.until("ready")
	if s.question != "" {
		x.keys("-l", s.question)
		x.until("> " + s.question)
		x.keys("Enter")
	}
	for _, text := range s.until {
		x.until(text)
	}
	for _, key := range s.keys {
		x.keys(key)
	}
	x.until(s.then)
	return x
}

// TestFullScreenScenes draws the screens of a turn at three sizes. It takes pictures of them into the folder PICTURES, if
// that is set, as scripts/screen.sh does.
func TestFullScreenScenes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for _, s := range scenes() {
			name := fmt.Sprintf("%s%d", s.name, size[0])
			t.Run(name, func(t *testing.T) {
				x := openScene(t, s, size[0], size[1], dark)
				shots := newShots(x, filepath.Join("scenes", name))
				shots.take(s.name)
				shots.end()
				if dir := os.Getenv("PICTURES"); dir != "" && size[0] == 80 {
					x.picture(filepath.Join(dir, s.name+".svg"))
					if s.isLight {
						openScene(t, s, size[0], size[1], light).picture(filepath.Join(dir, s.name+"-light.svg"), "--light")
					}
				}
			})
		}
	}
}

// The backgrounds that tmux tells the program.
const (
	dark  = "bg=#1c1e26,fg=#d7dae0"
	light = "bg=#ffffff,fg=#24292f"
)

// picture writes what the terminal shows as a picture.
func (x *tmux) picture(path string, arguments ...string) {
	x.t.Helper()
	script := exec.Command("python3", append([]string{filepath.Join("..", "..", "..", "scripts", "screen.py")}, arguments...)...)
	script.Stdin = strings.NewReader(x.run("capture-pane", "-e", "-N", "-p"))
	svg, err := script.Output()
	if err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, svg, 0o644); err != nil {
		x.t.Fatal(err)
	}
}
