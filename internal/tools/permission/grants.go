package permission

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/filelock"
)

// GrantsFile is the name of the file in the user's config folder.
const GrantsFile = "permissions.yaml"

const fileHead = "# Calls of tools that run without a question where a config would ask. massgen writes this\n" +
	"# file; `massgen permissions` lists the rules and removes them.\n"

// Grants are the calls that a person lets run without being asked again: until the program ends, or
// always, in a file of the user's config folder. They answer where a config's rules ask, and never
// where the rules deny. They are safe for concurrent use. A nil *Grants allows nothing.
type Grants struct {
	file    string
	mu      sync.Mutex
	always  []Rule
	session map[string]bool // by KindOf
}

// fileRule is a rule as the file has it, in the words of a config.
type fileRule struct {
	Action    Action            `yaml:"action"`
	Tool      string            `yaml:"tool"`
	Arguments map[string]string `yaml:"arguments,omitempty"`
}

type fileRules struct {
	Rules []fileRule `yaml:"rules"`
}

// OpenGrants reads the grants of a user's config folder, or of none if it is "". An error names the file
// and the cure; the Grants beside it have no rules of the file and write none.
func OpenGrants(folder string) (*Grants, error) {
	g := &Grants{session: map[string]bool{}}
	if folder == "" {
		return g, nil
	}
	file := filepath.Join(folder, GrantsFile)
	rules, err := readGrants(file)
	if err != nil {
		return g, err
	}
	g.file, g.always = file, rules
	return g, nil
}

func readGrants(file string) ([]Rule, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calls that you always allow: %w", err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var in fileRules
	if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w; mend or remove the file", file, err)
	}
	var list []Rule
	for i, r := range in.Rules {
		rule := Rule(r)
		if err := (Rules{Rules: []Rule{rule}}).Check(); err != nil {
			return nil, fmt.Errorf("%s: rules[%d]: %w; mend or remove it", file, i, err)
		}
		if rule.Action != Allow {
			return nil, fmt.Errorf("%s: rules[%d] has the action %s, and only allow can stand there: put the rule into a config", file, i, rule.Action)
		}
		list = append(list, rule)
	}
	return list, nil
}

// Allow returns the rule or the kind by which a call runs without a question; ok is false for any
// other call. The arguments are as the model wrote them.
func (g *Grants) Allow(tool, arguments string) (why string, ok bool) {
	if g == nil {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if kind := KindOf(tool, arguments); g.session[kind] {
		return "allowed in this session: " + kind, true
	}
	exact, isExact := RuleFor(tool, arguments)
	for i, rule := range g.always {
		fits := isExact && isSame(rule, exact)
		if len(rule.Arguments) == 0 || strings.ContainsAny(rule.String(), "*?") { // a person wrote it
			only := Rules{Rules: []Rule{rule}, Otherwise: Ask}
			fits = Decide(only, tool, arguments).Action == Allow
		}
		if fits {
			return fmt.Sprintf("rule %d of %s: %s", i+1, GrantsFile, rule), true
		}
	}
	return "", false
}

// isSame compares two rules by their parts: two different calls may read the same.
func isSame(a, b Rule) bool {
	return a.Action == b.Action && a.Tool == b.Tool && maps.Equal(a.Arguments, b.Arguments)
}

// AllowHere lets a kind of calls run until the program ends.
func (g *Grants) AllowHere(kind string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.session[kind] = true
}

// Keep adds a rule to the file. It reads the file anew: another process may have written it.
func (g *Grants) Keep(rule Rule) error {
	return g.change(func(rules []Rule) ([]Rule, error) {
		if slices.ContainsFunc(rules, func(r Rule) bool { return isSame(r, rule) }) {
			return rules, nil
		}
		return append(rules, rule), nil
	})
}

// Remove removes the rule with a number, counted from 1 as in List, and returns it.
func (g *Grants) Remove(number int) (removed Rule, err error) {
	err = g.change(func(rules []Rule) ([]Rule, error) {
		if number < 1 || number > len(rules) {
			return nil, fmt.Errorf("there is no rule %d: `massgen permissions list` shows them", number)
		}
		removed = rules[number-1]
		return slices.Delete(rules, number-1, number), nil
	})
	return removed, err
}

// List returns the rules of the file.
func (g *Grants) List() []Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.always)
}

func (g *Grants) change(how func([]Rule) ([]Rule, error)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == "" {
		return errors.New("no file keeps what you always allow: there is no home folder, or the file cannot be read")
	}
	var rules []Rule
	err := changeAlone(g.file, func() (err error) {
		if rules, err = readGrants(g.file); err != nil {
			return err
		}
		if rules, err = how(rules); err != nil {
			return err
		}
		return writeGrants(g.file, rules)
	})
	if err == nil {
		g.always = rules
	}
	return err
}

// longestChange is how long change waits for another program that changes the file.
const longestChange = 5 * time.Second

// changeAlone runs a change of the file while no other program changes it, and makes its folder.
func changeAlone(file string, change func() error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestChange)
	defer cancel()
	lock, err := filelock.Acquire(ctx, file+".lock")
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("another program has been changing it for %s: try again", longestChange)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return errors.Join(change(), lock.Release())
}

// writeGrants replaces the file in one step. Only the user can read it.
func writeGrants(file string, rules []Rule) error {
	out := fileRules{Rules: []fileRule{}}
	for _, r := range rules {
		out.Rules = append(out.Rules, fileRule(r))
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := filelock.WriteWholeSync(file, append([]byte(fileHead), data...)); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// KindOf names the kind of a call: all calls of its tool, or of the program that it runs. A person
// allows a kind for a session.
func KindOf(tool, arguments string) string {
	var args struct{ Argv []string }
	if json.Unmarshal([]byte(arguments), &args) == nil && len(args.Argv) > 0 {
		return tool + " " + args.Argv[0]
	}
	return tool
}

// isEdit reports whether an argument is a text that an edit removes or adds.
func isEdit(name string) bool {
	return slices.Contains([]string{"content", "old_text", "new_text", "old", "new"}, name)
}

// mostOfRule is how many bytes an argument of a rule may have: the person has to see all of it.
const mostOfRule = 300

// RuleFor returns the rule that allows a call, which a person sees before it is kept. The rule has all
// arguments except the texts of an edit. ok is false for a call that no rule can name.
func RuleFor(tool, arguments string) (rule Rule, ok bool) {
	rule = Rule{Action: Allow, Tool: tool, Arguments: map[string]string{}}
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(cmp.Or(strings.TrimSpace(arguments), "{}")), &args); err != nil {
		return rule, false
	}
	_, isOfFile := args["path"]
	for name, value := range args {
		if isOfFile && isEdit(name) {
			continue
		}
		text, err := patternOf(value)
		if err != nil || len(text) > mostOfRule || strings.ContainsAny(text, "*?\n\x00") {
			return rule, false
		}
		rule.Arguments[name] = text
	}
	if len(rule.Arguments) == 0 || strings.ContainsAny(tool, "*?") { // it would be about other calls, too
		return rule, false
	}
	// Arguments that readers would take in different ways are denied whatever the rules are.
	return rule, Decide(Rules{}, tool, arguments).Action == Allow
}

// patternOf writes an argument as rules compare it.
func patternOf(value json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text, nil
	}
	var list []string
	if json.Unmarshal(value, &list) == nil && len(list) > 0 {
		if slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.ContainsAny(s, " \t") }) {
			return "", errors.New("a list with blanks in its texts reads like another one")
		}
		return strings.Join(list, " "), nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, value)
	return compact.String(), err
}
