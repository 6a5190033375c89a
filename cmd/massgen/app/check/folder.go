package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// checkedFolder is the JSON object that massgen config check FOLDER --json prints.
type checkedFolder struct {
	Files  int `json:"files"`
	Load   int `json:"load"`
	Silent int `json:"silent"`
	// Assumed lists the variables that are not set and were taken to be.
	Assumed  []string      `json:"assumed"`
	Reasons  []reason      `json:"reasons"`
	Configs  []checkedFile `json:"configs"`
	warnings map[string]*reason
}

// reason is a message that some files have, without places and names of agents.
type reason struct {
	Text  string `json:"text"`
	Error bool   `json:"error"`
	// Files is how many files have it, and Alone how many have no other of its kind.
	Files int `json:"files"`
	Alone int `json:"alone"`
}

type checkedFile struct {
	File     string   `json:"file"`
	Loads    bool     `json:"loads"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// checkFolder reads all configs below a folder as --validate does. It takes keys, variables, context paths and
// the programs of MCP servers to be there, so that it judges the files and not this machine. It opens no
// connection and starts no program.
func checkFolder(ctx context.Context, p *program.Program, folder string) error {
	var files []string
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && e.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("config check: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("config check: there is no YAML file in %s", plain.Line(folder))
	}
	assumed := map[string]bool{}
	all := checkedFolder{Assumed: []string{}, Reasons: []reason{}, warnings: map[string]*reason{}}
	world := assumedWorld(p.Env, assumed)
	for _, file := range files {
		f := checkFile(ctx, p, world, file)
		if rel, err := filepath.Rel(folder, file); err == nil {
			f.File = rel
		}
		all.add(f)
	}
	for name := range assumed {
		all.Assumed = append(all.Assumed, name)
	}
	slices.Sort(all.Assumed)
	all.sort()
	if p.Options.Display.JSON {
		return p.Console.PutJSON(all)
	}
	return p.Console.Put(all.text())
}

// assumedWorld returns the environment, in which each missing variable has a value. It notes their names.
func assumedWorld(env *cmdline.Env, assumed map[string]bool) providers.World {
	world := cmdline.NewWorld(env, func(string) {})
	world.Assume = func(name string) string {
		assumed[name] = true
		if strings.Contains(name, "URL") || strings.Contains(name, "ENDPOINT") || strings.HasSuffix(name, "HOST") {
			return "https://assumed.invalid"
		}
		return "an-assumed-value"
	}
	return world
}

func checkFile(ctx context.Context, p *program.Program, world providers.World, file string) checkedFile {
	f := checkedFile{File: file, Errors: []string{}, Warnings: []string{}}
	warn := func(text string) { f.Warnings = append(f.Warnings, text) }
	p.Options.Panel = cmdline.PanelFlags{Config: file}
	panel, config, err := p.Panels.LookIn(ctx, world, store.InMemory("", p.Console.Secrets.Redact), warn)
	var refused interface{ Warnings() []configs.Issue }
	if config == nil && errors.As(err, &refused) {
		for _, w := range refused.Warnings() {
			warn(w.String())
		}
	}
	if err == nil {
		err = panel.Close()
	}
	if config != nil {
		for _, notice := range toolbox.ForeseeLists(config) {
			warn(notice)
		}
		err = errors.Join(err, ofTheFile(toolbox.Check(config)))
	}
	if err != nil {
		f.Errors = strings.Split(err.Error(), "\n")
	}
	f.Loads = err == nil
	slices.SortStableFunc(f.Warnings, byPlace)
	return f
}

// ofTheFile returns the errors that another machine would have, too: not those about what is missing here.
func ofTheFile(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var kept []error
		for _, e := range joined.Unwrap() {
			kept = append(kept, ofTheFile(e))
		}
		return errors.Join(kept...)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	return err
}

func (c *checkedFolder) add(f checkedFile) {
	c.Files++
	c.Configs = append(c.Configs, f)
	if f.Loads {
		c.Load++
		if len(f.Warnings) == 0 {
			c.Silent++
		}
	}
	c.count(f.Errors, true)
	c.count(f.Warnings, false)
}

func (c *checkedFolder) count(messages []string, isError bool) {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = general(m)
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	for _, text := range texts {
		key := fmt.Sprint(isError, text)
		r := c.warnings[key]
		if r == nil {
			r = &reason{Text: text, Error: isError}
			c.warnings[key] = r
		}
		r.Files++
		if len(texts) == 1 {
			r.Alone++
		}
	}
}

var (
	place  = regexp.MustCompile(`^.*?\.ya?ml(:\d+)*: `)
	number = regexp.MustCompile(`\[\d+\]`)
)

// general returns a message without its place and the numbers in its path.
func general(message string) string {
	text := number.ReplaceAllString(place.ReplaceAllString(message, ""), "[]")
	text, _, _ = strings.Cut(text, "; without effect beside it:")
	if rest, ok := strings.CutPrefix(text, "agent."); ok {
		return "agents[]." + rest
	}
	return text
}

func (c *checkedFolder) sort() {
	for _, r := range c.warnings {
		c.Reasons = append(c.Reasons, *r)
	}
	slices.SortFunc(c.Reasons, func(a, b reason) int {
		if a.Error != b.Error {
			return map[bool]int{true: -1, false: 1}[a.Error]
		}
		return cmp.Or(cmp.Compare(b.Files, a.Files), cmp.Compare(b.Alone, a.Alone), cmp.Compare(a.Text, b.Text))
	})
}

func (c *checkedFolder) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d can be used, %d of them without a warning\n", plain.Count(c.Files, "file"), c.Load, c.Silent)
	if len(c.Assumed) > 0 {
		fmt.Fprintf(&b, "taken to be set: %s\n", strings.Join(c.Assumed, ", "))
	}
	heading := map[bool]string{true: "errors", false: "warnings"}
	for i, r := range c.Reasons {
		if i == 0 || c.Reasons[i-1].Error != r.Error {
			fmt.Fprintf(&b, "\nfiles alone %s\n", heading[r.Error])
		}
		fmt.Fprintf(&b, "%5d %5d %s\n", r.Files, r.Alone, plain.Line(r.Text))
	}
	return b.String()
}
