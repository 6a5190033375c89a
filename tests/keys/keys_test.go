// Package keys looks for keys in all that the program writes.
package keys

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/leaks"
)

// face is a way to use the program.
type face struct {
	args  []string
	stdin string
}

// faces returns the ways to ask a question. Readers show what they write.
func faces() []face {
	dump := []string{"--dump-inputs", "dump", "--output-file", "answer.txt"}
	return []face{
		{args: append([]string{"--debug", "a question"}, dump...)},
		{args: append([]string{"--json", "--no-display", "a question"}, dump...)},
		{args: append([]string{"--automation", "a question"}, dump...)},
		{args: []string{"--lines", "--debug"}, stdin: "question\n/answers\n/inputs\n/inputs a\n/inputs agent1\n/config\n/status\n/context\n/usage\n/sessions\n/branch\nquestion\n/delete\n/delete yes\n/undo\n/clear\n/quit\n"},
	}
}

// readers returns the ways to show the results and the settings of a run, without a question.
func readers(flags []string) []face {
	all := []face{
		{args: []string{"inputs", "dump"}}, {args: []string{"inputs", "dump", "--table", "--calls"}},
		{args: []string{"inputs", "dump", "--diff", "turn-001/a/call-001", "turn-001/a/call-001"}},
		{args: []string{"sessions", "show", "default", "--json", "--config", "panel.yaml"}}, {args: []string{"sessions", "list"}},
		{args: []string{"show"}}, {args: []string{"show", "last", "--html", "page.html", "--svg", "turn.svg"}},
		{args: []string{"--list-backends"}}, {args: []string{"--validate", "panel.yaml"}},
	}
	if len(flags) > 0 {
		misspelt := strings.Replace(flags[len(flags)-1], "--base-url", "--base-ulr", 1)
		all = append(all, face{args: append([]string{"--config", "panel.yaml"}, flags...)}, face{args: []string{misspelt, "question"}})
	}
	return all
}

// sweeps reports whether MASSGEN_KEYS=all asks for the width that the gate tests: the default
// is a quarter of it, in which each way, outcome and protocol has its turn.
func sweeps() bool { return os.Getenv("MASSGEN_KEYS") == "all" }

// TestNoKeyIsShown gives a key in every way, lets the service repeat it in every way
// and reads everything that the program writes. Of the pairs of both a sweep takes every
// second one, and a default run every eighth.
func TestNoKeyIsShown(t *testing.T) {
	leaks.Check(t)
	each, number := 8, 0
	if sweeps() {
		each = 2
	}
	for i, w := range ways() {
		for j, o := range outcomes() {
			if (i+j)%each == 0 {
				c := canary{number: number, way: w, outcome: o}
				t.Run(c.name(), c.run)
				number++
			}
		}
	}
	fmt.Printf("keys: %d pairs of a way and an outcome\n", number)
}

// TestNoKeyOfAProtocolIsShown has the own header of each protocol repeated in all
// ways. A default run has one protocol for each of these.
func TestNoKeyOfAProtocolIsShown(t *testing.T) {
	leaks.Check(t)
	for i := range protocols() {
		for j, o := range outcomes() {
			if sweeps() || j%len(protocols()) == i {
				c := canary{number: len(protocols())*j + i, way: ways()[0], outcome: o}
				t.Run(c.name(), c.run)
			}
		}
	}
}

// canary is one case. Its number selects the protocol, the face and the key.
type canary struct {
	number  int
	way     way
	outcome outcome
}

func (c canary) protocol() protocol {
	if c.way.azure {
		return chatProtocol()
	}
	return protocols()[c.number%len(protocols())]
}

func (c canary) face() face { return faces()[c.number/len(protocols())%len(faces())] }

func (c canary) key() string {
	if c.number/2%2 == 0 {
		return sharpCanary
	}
	return plainCanary
}

func (c canary) name() string {
	return fmt.Sprintf("%s/%s/%s/%s/%s", c.way.name, c.outcome.name, c.protocol().typ, c.key()[:2], c.face().args[0])
}

func (c canary) run(t *testing.T) {
	t.Chdir(t.TempDir())
	address := c.outcome.address
	var g *gossip
	if c.outcome.reply != nil {
		g = newGossip(t, c.protocol(), c.key(), c.outcome.reply)
		address = g.URL + "/v1"
	}
	s := c.way.prepare(c.protocol(), address, c.key())
	c.write(t, s)
	shown := c.start(t, s, append(s.who(), append(c.face().args, c.outcome.flags...)...), c.face().stdin, g)
	if g != nil && !g.wasTold() && len(c.outcome.flags) == 0 {
		t.Errorf("the service was not told the key:\n%s", shown)
	}
	if g != nil && !c.outcome.unseen && !strings.Contains(shown+written(t), "***") {
		t.Errorf("nothing shows that the service told of the key:\n%s", shown)
	}
	r := readers(s.flags)
	shown += c.start(t, s, r[c.number%len(r)].args, "", nil)
	c.check(t, "on the screen", shown)
	c.check(t, "in a file", written(t))
}

// write makes the files that a person has made.
func (c canary) write(t *testing.T, s *setup) {
	agents := 1
	if c.outcome.panel {
		agents = 2
	}
	config, err := s.config(agents)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"panel.yaml": config, ".env": []byte(s.dotEnv)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// who returns the flags that select the agents.
func (s *setup) who() []string {
	if s.backend == nil {
		return s.flags
	}
	return []string{"--config", "panel.yaml"}
}

// start runs the program to its end, and returns what it wrote to its outputs.
func (c canary) start(t *testing.T, s *setup, args []string, stdin string, g *gossip) string {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	interrupts, ended := make(chan os.Signal), make(chan struct{})
	defer close(ended)
	if g != nil && c.outcome.interrupt {
		go g.interrupt(interrupts, ended)
	}
	app.Main(append([]string{"massgen"}, args...), app.Env{
		Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Interrupts: interrupts, LocalServers: map[string]string{},
		Lookup: func(name string) (string, bool) {
			if name == "HOME" {
				return home, true
			}
			value, set := s.env[name]
			return value, set
		},
	})
	return stdout.String() + stderr.String()
}

// written returns the names and texts of all files below the folder.
func written(t *testing.T) string {
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "panel.yaml" || path == ".env" {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func (c canary) check(t *testing.T, where, text string) {
	for _, line := range strings.Split(text, "\n") {
		if shows(line, c.key()) {
			t.Errorf("the key is %s:\n%s", where, line)
		}
	}
}
