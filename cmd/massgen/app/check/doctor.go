package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// finding is one thing that doctor has looked at. Cure is empty if all is well.
type finding struct {
	What  string `json:"what"`
	State string `json:"state"`
	Cure  string `json:"cure"`
}

// Doctor returns the command doctor, which looks for what would keep the program from working.
func Doctor(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "look at keys, servers, versions and rights, and name the cures",
		UsageText: "massgen doctor [--config FILE]\n\nIt calls no model. The exit status is 1 if something needs a cure.",
		Flags: []cli.Flag{
			cmdline.TextFlag("", "config", &p.Options.Panel.Config, "the config to look at: `FILE`"),
			cmdline.SwitchFlag("", "json", &p.Options.Display.JSON, "print JSON"),
		},
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() > 0 {
				return errors.New("doctor: it takes no question")
			}
			return doctor(ctx.Context, p)
		},
	}
}

func doctor(ctx context.Context, p *program.Program) error {
	cmdline.HideKeys(p.Env, p.Console)
	found := []finding{{"version", fmt.Sprintf("massgen %s, %s, %s/%s", cmdline.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH), ""}}
	services, err := servicesHere(ctx, p.Env, p.Console)
	if err != nil {
		return err
	}
	found = append(found, services...)
	found = append(found, configHere(ctx, p)...)
	found = append(found, stateHere(p.Env), fenceHere())
	found = append(found, keyFilesHere(p.Env)...)
	if p.Options.Display.JSON {
		if err := p.Console.PutJSON(found); err != nil {
			return err
		}
	} else if err := p.Console.Put(reportOf(found)); err != nil {
		return err
	}
	for _, f := range found {
		if f.Cure != "" {
			return cmdline.WithStatus(cmdline.ExitUsage, nil)
		}
	}
	return nil
}

func reportOf(found []finding) string {
	var rows [][]string
	for _, f := range found {
		mark := "ok"
		if f.Cure != "" {
			mark = "fix"
		}
		text := f.State
		if f.Cure != "" {
			text += ": " + f.Cure
		}
		rows = append(rows, []string{mark, f.What, plain.Line(text)})
	}
	return plain.Columns(rows)
}

// usable returns the types of backends as they are here.
func usable(ctx context.Context, env *cmdline.Env, c *cmdline.Console) ([]providers.Usable, error) {
	r, err := providers.New(providers.Settings{World: cmdline.NewWorld(env, c.Warn), Config: configs.Default(), Log: slog.New(slog.DiscardHandler), Secrets: c.Secrets}, nil, nil)
	if err != nil {
		return nil, err
	}
	return r.Usable(ctx), nil
}

func servicesHere(ctx context.Context, env *cmdline.Env, c *cmdline.Console) (found []finding, err error) {
	all, err := usable(ctx, env, c)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.Works {
			found = append(found, finding{u.Title, u.State, ""})
		}
	}
	if len(found) == 0 {
		found = append(found, finding{
			"models", "no provider's key is set and no model server answers on this machine",
			"set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY in the environment or in .env, or start Ollama",
		})
	}
	return found, nil
}

// configHere looks at the config that a question would use.
func configHere(ctx context.Context, p *program.Program) (found []finding) {
	warn := func(string) {}
	panel, config, err := p.Panels.Look(ctx, store.InMemory("", p.Console.Secrets.Redact), warn)
	if err == nil {
		err = panel.Close()
	}
	if config == nil {
		for line := range strings.Lines(err.Error()) {
			found = append(found, finding{"config", "it cannot be used", strings.TrimSpace(line)})
		}
		return found
	}
	err = errors.Join(err, toolbox.Check(config))
	if err == nil {
		found = append(found, finding{"config", config.File + " can be used", ""})
	} else {
		for line := range strings.Lines(err.Error()) {
			found = append(found, finding{"config", config.File + " cannot be used", strings.TrimSpace(line)})
		}
	}
	for _, server := range toolbox.MissingPrograms(config) {
		found = append(found, finding{"MCP server", "it cannot start", server})
	}
	return found
}

// stateHere looks at the folder for sessions.
func stateHere(env *cmdline.Env) finding {
	place, err := store.Default(env.Lookup)
	if err != nil {
		return finding{"sessions", err.Error(), "set HOME, or name a folder with --state-dir"}
	}
	dir := filepath.Dir(place.File)
	for existing := dir; ; existing = filepath.Dir(existing) {
		if _, err := os.Stat(existing); err != nil && filepath.Dir(existing) != existing {
			continue
		}
		test, err := os.CreateTemp(existing, ".massgen-doctor-*")
		if err != nil {
			return finding{"sessions", "nothing can be written to " + existing, "make it writable, or name a folder with --state-dir"}
		}
		if err := errors.Join(test.Close(), os.Remove(test.Name())); err != nil {
			return finding{"sessions", err.Error(), "look at the rights of " + existing}
		}
		return finding{"sessions", "are kept in " + dir, ""}
	}
}

func fenceHere() finding {
	if ok, reason := workspace.CanFence(); !ok {
		return finding{"commands", "cannot be fenced in, so a person is asked about each (" + reason + ")", ""}
	}
	return finding{"commands", "of agents run behind the kernel's fence", ""}
}

// keyFilesHere looks at the rights of files with keys.
func keyFilesHere(env *cmdline.Env) (found []finding) {
	for _, file := range append([]string{".env"}, store.KeyFiles(env.Lookup)...) {
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			found = append(found, finding{"keys", "other users can read " + file, "chmod 600 " + file})
			continue
		}
		found = append(found, finding{"keys", file + " is read", ""})
	}
	return found
}
