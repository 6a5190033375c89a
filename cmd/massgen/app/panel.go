package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
)

// defaultConfig is the panel of a run that names none.
const defaultConfig = "@examples/three_agents"

// config returns the panel that the options ask for.
func (p *program) config(lookup lookupFunc) (*configs.Config, error) {
	o := p.options
	if o.single() {
		c := configs.Default()
		c.Agents = []configs.Agent{{
			ID: "agent1", SystemMessage: o.systemMessage, Context: c.Context,
			Backend: configs.Backend{Type: o.backend, Model: o.model, BaseURL: o.baseURL},
		}}
		return c, nil
	}
	file := o.config
	if file == "" {
		file = p.ownConfig()
	}
	return p.loadConfig(file, lookup)
}

// ownConfig is the config in the user's configuration folder, if there is one,
// else the default. A folder that is not absolute is none: the current folder
// shall not decide who is on the panel.
func (p *program) ownConfig() string {
	folder, _ := p.env.Lookup("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) {
		home, _ := p.env.Lookup("HOME")
		folder = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(folder) {
		return defaultConfig
	}
	file := filepath.Join(folder, "massgen", "config.yaml")
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
		return file
	}
	return defaultConfig
}

// loadConfig reads a config and shows its warnings.
func (p *program) loadConfig(file string, lookup lookupFunc) (*configs.Config, error) {
	noted := func(name string) (string, bool) {
		value, set := lookup(name)
		if _, own := p.env.Lookup(name); set && !own {
			p.ofDotEnv[value] = true
		}
		return value, set
	}
	config, err := configs.Load(file, configs.Options{Lookup: noted, BackendTypes: backendTypes(), Secrets: p.console.secrets})
	if err != nil {
		return nil, err
	}
	for _, w := range config.Warnings {
		p.console.warn(w.String())
	}
	return config, nil
}

// lookupFunc finds a variable.
type lookupFunc = func(name string) (value string, set bool)

// lookup knows the environment and the file .env of the current folder.
func (p *program) lookup() (lookupFunc, error) {
	return configs.WithDotEnv(".", p.env.Lookup)
}

// makePanel connects the agents to their models, for a session or, without one, to
// see whether they can be. Its error has a line for each
// reason why agents cannot be connected.
func makePanel(ctx context.Context, config *configs.Config, r *resolver, store coordinator.Store, s *session) (*coordinator.Panel, []reached, error) {
	digest, err := config.Digest()
	if err != nil {
		return nil, nil, err
	}
	opts := coordinator.Options{Rules: rules(config), Limits: limits(config), Budget: config.Budget, Store: store, Config: digest}
	if s != nil {
		opts.Sections, opts.AfterTurn, opts.Override = s.sections, s.afterTurn, s.options.budget
	}
	var models []reached
	var failed []coordinator.FailedAgent
	for i, a := range config.Agents {
		m, faults := r.resolve(ctx, a.Backend)
		for _, err := range faults {
			failed = append(failed, coordinator.FailedAgent{Agent: a.ID, Error: placed(func(key string) string { return config.BackendPlace(i, key) }, err)})
		}
		if len(faults) > 0 {
			continue
		}
		models = append(models, m)
		opts.Agents = append(opts.Agents, coordinator.Agent{
			ID: a.ID, SystemMessage: a.SystemMessage, Backend: m.backend, Model: m.model, Params: r.bounded(m, a.Backend.Params),
			ToolMode: toolMode(a.Backend), Context: r.context(m, a.Context),
		})
	}
	asides, faults := r.helpers(ctx, config)
	if failed = append(failed, faults...); len(failed) > 0 {
		return nil, nil, errors.New(strings.Join(reasons(failed), "\n"))
	}
	if s != nil && (s.engine != nil || s.options.worker) {
		opts.Sections = s.sectionsOf
	}
	if s != nil && s.engine != nil {
		opts.Engine = s.engine
	}
	asides.addAsides(&opts, s)
	if s != nil {
		s.addApproval(&opts)
	}
	if s != nil && s.engine == nil && s.toolbox != nil {
		opts.ToolsVersion = s.toolbox.version
		if err := s.openTools(ctx, opts.Agents); err != nil {
			return nil, nil, err
		}
		if err := s.permits(opts.Agents); err != nil {
			return nil, nil, err
		}
		opts.Tools = s.currentTools
	}
	panel, err := coordinator.New(opts)
	return panel, models, err
}

// context gives a policy what is known of the model that it is for.
func (r *resolver) context(m reached, settings policy.Settings) agents.Context {
	return agents.Context{Policy: settings, Window: m.window, Counter: r.vocabularies.Counter(m.provider.name, m.model)}
}

// toolMode is auto unless the configuration says otherwise: a model that cannot
// call tools is found out, and asked in another way.
func toolMode(b configs.Backend) machine.ToolMode {
	return cmp.Or(machine.ToolMode(b.ToolMode), machine.ToolsAuto)
}

// participants are the ids of the agents by the names that models know them by.
// An agent alone has no other name.
func participants(c *configs.Config) map[string]string {
	if len(c.Agents) == 1 {
		return nil
	}
	ids := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		ids[i] = a.ID
	}
	byName := map[string]string{}
	for id, name := range contextbuild.Anonymous(ids) {
		byName[name] = id
	}
	return byName
}

// rules are the kernel's words for what a configuration says.
func rules(c *configs.Config) kernel.Config {
	o, t := c.Orchestrator, c.Timeouts
	return kernel.Config{
		Pace: o.Pace, Decision: o.Decision, Final: o.FinalAnswerStrategy,
		MaxRounds: o.MaxRounds, StragglerGrace: o.StragglerGrace,
		MaxNewAnswersPerAgent: o.MaxNewAnswersPerAgent, MaxNewAnswersGlobal: o.MaxNewAnswersGlobal, SelfVote: o.SelfVote,
		FirstRoundLimit: t.InitialRound, RoundLimit: t.SubsequentRound, RoundGrace: t.RoundGrace, TurnLimit: t.Orchestrator,
	}
}

func limits(c *configs.Config) machine.Limits {
	o := c.Orchestrator
	l := machine.Limits{
		MaxTurns: o.MaxTurns, MaxAttempts: o.MaxAttempts, MaxToolCalls: o.MaxToolCalls, ResultLimit: o.MaxToolResultBytes,
		ToolLimit: int(c.Timeouts.Tool.Milliseconds()),
	}
	if share := o.AnswerNoveltyRequirement.MaxOverlap(); share < 1 {
		l.MaxOverlap = int(math.Round(share * 1000))
	}
	return l
}

// checkOutputFile proves, before anything is paid for, that the file can be
// written. It leaves the file as it is.
func checkOutputFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil && isNew {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("--output-file: %w; name a file that can be written", err)
	}
	return nil
}
