package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// again is the word behind a strategy or preset by which the last question is to be asked again.
const again = "again"

// setStrategy shows how turns are decided, or decides them by another strategy.
func (d *dialogue) setStrategy(argument string) error {
	config := d.s.asked.config
	if argument == "" {
		d.s.console.Say("%s: a turn makes %s model calls, and more for tools.", config.StrategyName(), config.Calls())
		return nil
	}
	return d.decide("/strategy", argument, func(name string) (preset, strategy string) { return "", name })
}

// setPreset lists the presets, or decides turns as another preset says.
func (d *dialogue) setPreset(argument string) error {
	if argument != "" {
		return d.decide("/preset", argument, func(name string) (preset, strategy string) { return name, "" })
	}
	config := d.s.asked.config
	rows := [][]string{{"PRESET", "STRATEGY", "CALLS"}}
	for _, name := range config.Presets() {
		with, err := config.WithPreset(name, "")
		if err != nil {
			return fmt.Errorf("/preset: %w", err)
		}
		rows = append(rows, []string{name, with.StrategyName(), with.Calls().String()})
	}
	if len(rows) == 1 {
		return errors.New("/preset: one agent has nothing to decide: presets need two agents or more")
	}
	d.show(rows)
	return nil
}

// decide replaces the panel by one that decides otherwise, and has the session keep that. With again it
// asks the last question again, in a copy of the session that ends before that question. After an error
// nothing is changed.
func (d *dialogue) decide(command, argument string, named func(name string) (preset, strategy string)) error {
	words := strings.Fields(argument)
	if len(words) > 2 || len(words) == 2 && words[1] != again {
		return fmt.Errorf("%s: %q is no name: %s NAME, or %s NAME again", command, wording.Shortened(plain.Line(argument), 40), command, command)
	}
	preset, strategy := named(words[0])
	config, err := d.s.asked.config.WithPreset(preset, strategy)
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if len(words) == 2 {
		if err := d.checkAgain(); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
	}
	known := d.s.asked.known
	known.Preset, known.Strategy = preset, strategy
	other, err := d.s.connect(context.Background(), config, known)
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if len(words) == 2 {
		if err := d.undo(""); err != nil {
			return errors.Join(err, other.close())
		}
		d.next, d.draft = d.draft, ""
	}
	d.s.replacePanel(other)
	d.s.decidesBy(known)
	d.s.console.Say("Turns are decided by %s from the next question on: %s model calls, and more for tools.", d.s.asked.config.StrategyName(), d.s.asked.config.Calls())
	d.warnOfDropped(config)
	return nil
}

// checkAgain returns an error if there is no question to ask again.
func (d *dialogue) checkAgain() error {
	last, _, err := archive.LastTurn(context.Background(), d.s.store, d.s.chat.id)
	if errors.Is(err, sessions.ErrNoSession) || err == nil && last.Number == 0 {
		return errNoTurn
	}
	return err
}

// warnOfDropped prints the keys of the config that mean nothing with the strategy.
func (d *dialogue) warnOfDropped(config *configs.Config) {
	for _, issue := range config.Dropped {
		d.s.console.Say("%s", plain.Line(issue.String()))
	}
}

// decidesBy has the session keep the panel's strategy, which takes the place of the flags'.
func (s *session) decidesBy(known archive.Remembered) {
	s.memory.panel.Preset, s.memory.panel.Strategy = "", ""
	if s.chat.remembers {
		s.chat.rebudgeted = &known
	}
}
