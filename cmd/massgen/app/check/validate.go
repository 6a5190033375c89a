// Package check has the commands that read configs and the machine without asking a model.
package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// validated is the JSON object that massgen --validate FILE --json prints.
type validated struct {
	Config string           `json:"config"`
	Agents []validatedAgent `json:"agents"`
	// Calls is how many model calls a turn makes; nil for a config that is not valid. MostUSD is what they
	// cost at most, nil if that is unknown.
	Calls   *configs.CallCount `json:"calls"`
	MostUSD *float64           `json:"most_usd"`
	// Hint is what a user of MassGen should know of the config; it is no warning.
	Hint string `json:"hint,omitempty"`
	// Warnings lists what a run would warn of.
	Warnings []string `json:"warnings"`
	// Errors lists why a run would end before its first model call.
	Errors []string `json:"errors"`
	Valid  bool     `json:"valid"`
}

// validatedAgent is an agent with the model that it would ask.
type validatedAgent struct {
	ID      string `json:"id"`
	Model   string `json:"model"`
	Type    string `json:"type"`
	BaseURL string `json:"base_url"` // without user, password and query
}

// Validate checks a config as a run does before its first model call: each agent must have a
// service, an address, a key and a model. It prints the warnings that the run would print, in the
// order of the file, also beside errors.
func Validate(ctx context.Context, p *program.Program, file string) error {
	v := validated{Config: file, Agents: []validatedAgent{}, Warnings: []string{}, Errors: []string{}}
	err := v.check(ctx, p)
	if err == nil {
		v.Valid = true
	} else {
		v.Errors = strings.Split(err.Error(), "\n")
	}
	if p.Options.Display.JSON {
		return errors.Join(err, p.Console.PutJSON(v))
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s is valid: %s, %s\n",
		v.Config, plain.Count(len(v.Agents), "agent"), plain.Count(len(v.Warnings), "warning"))
	if len(v.Agents) > 1 {
		text += "a turn makes " + v.Calls.String() + " model calls, and more for tools; " + costText(v.MostUSD) + "\n"
	}
	if v.Hint != "" {
		text += v.Hint + "\n"
	}
	return p.Console.Put(text)
}

// costText says what the calls of a turn cost at most, without those for tools.
func costText(most *float64) string {
	switch {
	case most == nil:
		return "the highest cost is unknown"
	case *most == 0:
		return "they cost nothing"
	}
	return fmt.Sprintf("without those for tools they cost at most $%.2f, if each fills its model's window", *most)
}

func (v *validated) check(ctx context.Context, p *program.Program) (err error) {
	warn := func(text string) { v.Warnings = append(v.Warnings, text) }
	defer func() {
		slices.SortStableFunc(v.Warnings, byPlace)
		for _, text := range v.Warnings {
			p.Console.Warn(text)
		}
	}()
	given := p.Options.Panel
	p.Options.Panel = cmdline.PanelFlags{Config: v.Config, Strategy: given.Strategy, Preset: given.Preset, Schema: given.Schema}
	panel, config, err := p.Panels.Look(ctx, store.InMemory("", p.Console.Secrets.Redact), warn)
	if config == nil {
		var refused interface{ Warnings() []configs.Issue }
		if errors.As(err, &refused) {
			for _, w := range refused.Warnings() {
				warn(w.String())
			}
		}
		return err
	}
	if err == nil {
		defer func() { err = errors.Join(err, panel.Close()) }()
		v.take(config, panel.Models())
		v.Hint = config.Hint()
		if config, err = config.WithPreset(given.Preset, given.Strategy); err != nil {
			return err
		}
		v.Calls = new(config.Calls())
		if v.MostUSD, err = mostUSD(config, panel.Models()); err != nil {
			return err
		}
	}
	for _, issue := range slices.Concat(config.Remarks, config.Dropped) {
		warn(issue.String())
	}
	for _, notice := range toolbox.Foresee(config) {
		warn(notice)
	}
	return errors.Join(err, toolbox.Check(config))
}

var placed = regexp.MustCompile(`^.+?:(\d+):(\d+): `)

// byPlace compares warnings by the line and column that they begin with. Those without come last.
func byPlace(a, b string) int {
	return slices.Compare(placeOf(a), placeOf(b))
}

func placeOf(warning string) []int {
	m := placed.FindStringSubmatch(warning)
	if m == nil {
		return []int{math.MaxInt}
	}
	line, errLine := strconv.Atoi(m[1])
	column, errColumn := strconv.Atoi(m[2])
	if errLine != nil || errColumn != nil { // too large for a place
		return []int{math.MaxInt}
	}
	return []int{line, column}
}

// take copies the agents of a config and their models into v.
func (v *validated) take(config *configs.Config, models []providers.Model) {
	v.Config = config.File
	for i, a := range config.Agents {
		m := models[i]
		v.Agents = append(v.Agents, validatedAgent{ID: a.ID, Model: m.Name, Type: m.Provider, BaseURL: configs.MaskURL(m.BaseURL)})
	}
}
