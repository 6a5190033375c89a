package check

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// initFlags are those of the command init.
type initFlags struct {
	models, file   string
	project, force bool
}

// Init returns the command init, which writes a config.
func Init(p *program.Program) *cli.Command {
	f := &initFlags{}
	return &cli.Command{
		Name: "init", Usage: "write a config for the keys and model servers that are here",
		UsageText: "massgen init [--models A,B,C] [--project | --file FILE]\n\nOn a terminal it asks which models to take; with --models, or without a\nterminal, it asks nothing. It writes massgen/config.yaml of your\nconfiguration folder, which questions use from then on.",
		Flags: []cli.Flag{
			cmdline.TextFlag("", "models", &f.models, "the panel's models, `A,B,C`, each TYPE/MODEL, TYPE or MODEL"),
			cmdline.TextFlag("", "file", &f.file, "write `FILE`"),
			cmdline.SwitchFlag("", "project", &f.project, "write "+store.ProjectConfig+", for questions in this folder"),
			cmdline.SwitchFlag("", "force", &f.force, "replace a file that is there"),
		},
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() > 0 {
				return errors.New("init: it takes no question: massgen init --models A,B,C")
			}
			return f.run(ctx.Context, p)
		},
	}
}

func (f *initFlags) run(ctx context.Context, p *program.Program) error {
	file, err := f.path(p.Env)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil && !f.force {
		return fmt.Errorf("init: %s is there already: --force replaces it, --file names another", plain.Line(file))
	}
	agents, err := f.agents(ctx, p)
	if err != nil {
		return err
	}
	text := configText(agents)
	if _, err := cmdline.NewWorld(p.Env, func(string) {}).ParseConfig(file, text, p.Console.Secrets); err != nil {
		return fmt.Errorf("init: --models: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("init: %w", err)
		}
	}
	out, err := os.OpenFile(file, flag, 0o600)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, err = io.WriteString(out, text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if f.project {
		if err := store.TrustFile(p.Env.Lookup, file); err != nil {
			return fmt.Errorf("init: %w", err)
		}
	}
	return p.Console.Put(fmt.Sprintf("%s has %s; massgen --validate %s checks it\n", file, plain.Count(len(agents), "agent"), file))
}

func (f *initFlags) path(env *cmdline.Env) (string, error) {
	switch {
	case f.file != "" && f.project:
		return "", errors.New("init: --file and --project name two files: leave one out")
	case f.file != "":
		return f.file, nil
	case f.project:
		return store.ProjectConfig, nil
	}
	folder := store.ConfigFolder(env.Lookup)
	if folder == "" {
		return "", errors.New("init: there is no home folder: --file names a file")
	}
	return filepath.Join(folder, "config.yaml"), nil
}

// agents returns the agents of the flag, of a person's choice, or of all that is here.
func (f *initFlags) agents(ctx context.Context, p *program.Program) ([]configs.Agent, error) {
	if f.models != "" {
		return providers.AgentsOf(strings.Split(f.models, ",")), nil
	}
	all, err := usable(ctx, p.Env, p.Console)
	if err != nil {
		return nil, err
	}
	here := slices.DeleteFunc(all, func(u providers.Usable) bool { return !u.Works })
	if len(here) == 0 {
		return nil, errors.New("init: no provider's key is set and no model server answers on this machine: set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, start Ollama, or name --models")
	}
	if cmdline.IsTerminal(p.Env.Stdin) && cmdline.IsTerminal(p.Env.Stderr) {
		if here, err = chooseModels(p, here); err != nil {
			return nil, err
		}
	}
	var names []string
	for _, u := range here {
		names = append(names, u.Type+"/"+u.Model)
	}
	if len(names) == 1 { // one model three times is a panel, too
		names = slices.Repeat(names, 3)
	}
	return providers.AgentsOf(names), nil
}

// chooseModels asks a person which of the models to take.
func chooseModels(p *program.Program, here []providers.Usable) ([]providers.Usable, error) {
	for i, u := range here {
		p.Console.Say("%d  %s  %s", i+1, u.Title, plain.Line(u.Model))
	}
	line, err := askLine(p, "Which models should answer? Their numbers, such as 1,2; Enter takes all: ")
	if err != nil || line == "" {
		return here, err
	}
	var chosen []providers.Usable
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(here) {
			return nil, fmt.Errorf("init: %q is no number of the list", plain.Cut(plain.Line(word), 40))
		}
		chosen = append(chosen, here[n-1])
	}
	return chosen, nil
}

// askLine puts a question to a person, and returns the line of the answer.
func askLine(p *program.Program, question string) (string, error) {
	p.Console.Write(question)
	line, err := bufio.NewReader(p.Env.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

var unfitForName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// configText is the YAML of a panel.
func configText(agents []configs.Agent) string {
	var b strings.Builder
	b.WriteString("# The panel of massgen. massgen --example all_settings shows all keys.\nagents:\n")
	taken := map[string]bool{}
	for _, a := range agents {
		name := strings.Trim(unfitForName.ReplaceAllString(a.ID, "-"), "-")
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		taken[strings.ToLower(unique)] = true
		fmt.Fprintf(&b, "  - id: %s\n    backend:\n", unique)
		if a.Backend.Type != "" {
			fmt.Fprintf(&b, "      type: %s\n", a.Backend.Type)
		}
		if a.Backend.Model != "" {
			fmt.Fprintf(&b, "      model: %s\n", strconv.Quote(a.Backend.Model))
		}
	}
	return b.String()
}

// Select lets a person choose the panel from the configs that are here.
func Select(p *program.Program) error {
	if !cmdline.IsTerminal(p.Env.Stdin) || !cmdline.IsTerminal(p.Env.Stderr) {
		return errors.New("--select: it needs a terminal: --config names the panel, and --list-examples lists the shipped ones")
	}
	var names []string
	if _, err := os.Stat(store.ProjectConfig); err == nil {
		names = append(names, store.ProjectConfig)
	}
	if folder := store.ConfigFolder(p.Env.Lookup); folder != "" {
		for _, pattern := range []string{"config.yaml", filepath.Join("agents", "*.yaml"), filepath.Join("agents", "*.yml")} {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			if err != nil {
				return fmt.Errorf("--select: %w", err)
			}
			names = append(names, found...)
		}
	}
	for _, e := range configs.Examples() {
		names = append(names, "@examples/"+e.Name)
	}
	for i, name := range names {
		p.Console.Say("%d  %s", i+1, plain.Line(name))
	}
	line, err := askLine(p, "Which panel? Its number: ")
	if err != nil {
		return fmt.Errorf("--select: %w", err)
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(names) {
		return fmt.Errorf("--select: %q is no number of the list", plain.Cut(plain.Line(line), 40))
	}
	p.Options.Panel.Config = names[n-1]
	return nil
}
