package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/providers"
	"github.com/massgen/massgen/internal/system/plain"
)

// setModel shows the agents' models, or has an agent ask another one from the next question on.
// Neither the config nor what the session remembers of its panel changes.
func (d *dialogue) setModel(argument string) error {
	words := strings.Fields(argument)
	agents := d.s.asked.config.Agents
	switch {
	case len(words) == 0:
		rows := [][]string{{"AGENT", "MODEL"}}
		for i, m := range d.s.asked.panel.Models() {
			rows = append(rows, []string{agents[i].ID, m.String()})
		}
		d.show(rows)
		return nil
	case len(words) == 1 && len(agents) == 1:
		words = []string{agents[0].ID, words[0]}
	case len(words) != 2:
		return errors.New("/model: say whose model, and which: /model AGENT MODEL")
	}
	at := slices.IndexFunc(agents, func(a configs.Agent) bool { return a.ID == words[0] })
	if at < 0 {
		var ids []string
		for _, a := range agents {
			ids = append(ids, a.ID)
		}
		return fmt.Errorf("/model: there is no agent %s: the agents are %s", wording.Shortened(plain.Line(words[0]), 40), plain.List(ids))
	}
	before := d.s.asked.panel.Models()[at].String()
	if err := d.takeModel(at, words[1]); err != nil {
		return fmt.Errorf("/model: %w", err)
	}
	d.s.console.Say("%s asks %s from the next question on, and no longer %s, until massgen ends. The config stays as it is.",
		plain.Line(words[0]), d.s.asked.panel.Models()[at], before)
	return nil
}

// takeModel replaces the panel by one in which an agent asks another model. After an error the
// panel is as it was.
func (d *dialogue) takeModel(agent int, model string) error {
	s := d.s
	config := *s.asked.config
	config.Agents = slices.Clone(config.Agents)
	config.Agents[agent].Backend = withModel(config.Agents[agent].Backend, model)
	other, err := s.connect(context.Background(), &config, s.asked.known)
	if err != nil {
		return err
	}
	s.replacePanel(other)
	return nil
}

// withModel returns a backend that asks another model. A model whose name says whose it is is
// asked there, as with --model, and without the headers for another service. Any other
// model is asked at the same service.
func withModel(b configs.Backend, model string) configs.Backend {
	of := providers.TypeOfModel(model)
	isOpen := b.Type == "" || b.Type == providers.Auto || b.Type == providers.Demo
	if b.BaseURL != "" || of == b.Type || of == "" && !isOpen {
		b.Model = model
		return b
	}
	params := b.Params
	params.Headers, params.ExtraBody = nil, nil
	return configs.Backend{Model: model, ToolMode: b.ToolMode, Params: params}
}

// knownModels are the names of models that the table of prices has.
func knownModels() []string {
	table, err := prices.New(nil)
	if err != nil {
		return nil // without names nothing is completed
	}
	return table.Names("")
}

// listTools shows the tools of each agent, where they come from, and whether they may run.
func (d *dialogue) listTools(string) error {
	if d.s.engine != nil {
		return errors.New("/tools: the tools are where the turns are played, and not here")
	}
	rows := [][]string{{"AGENT", "TOOL", "FROM", "PERMISSION"}}
	for i, list := range d.s.asked.panel.Tools() {
		for _, t := range list {
			rows = append(rows, []string{d.s.asked.config.Agents[i].ID, plain.Line(t.Name), plain.Line(t.From), plain.Line(t.Rule)})
		}
	}
	if len(rows) == 1 {
		d.s.console.Say("No agent has tools but those to answer and to vote.")
		return nil
	}
	d.show(rows)
	if !d.s.kept.CanAsk() {
		d.s.console.Say("Nobody can be asked here: what is to be asked about is not run, unless permissions.unattended allows it.")
	}
	if d.s.asked.config.Orchestrator.PlanningMode {
		d.s.console.Say("In planning mode a tool that changes something runs only for the final answer.")
	}
	return nil
}

// topicUsage is the form of /topic: a name, then details behind semicolons.
const topicUsage = "/topic NAME; location: PLACE; era: TIME sets it, and /topic - forgets it"

// The words of /topic for a pending topic (seed 002).
const (
	topicYes = "yes"
	topicNo  = "no"
)

// setTopic shows, sets or forgets what the conversation is about.
func (d *dialogue) setTopic(text string) error {
	ctx := context.Background()
	state, err := d.s.asked.panel.Topic(ctx, d.s.chat.id)
	if err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	var next, said string
	switch text {
	case "":
		d.showTopic(state)
		return nil
	case topicYes, topicNo:
		if state.Pending == nil {
			return fmt.Errorf("/topic %s: no topic waits for its confirmation: %s", text, topicUsage)
		}
		if text == topicYes {
			next, _ = state.Confirm()
			said = wording.Printable(state.Current.String()) + "\nAsked again: " + wording.Quoted(next)
			break
		}
		state.Decline()
		said = "The topic stays as it is."
	case "-":
		state.Clear()
		said = "There is no topic any more."
	default:
		t, err := parseTopic(d.s.console.Secrets.Redact(text))
		if err != nil {
			return fmt.Errorf("/topic: %w: %s", err, topicUsage)
		}
		state.Set(t)
		said = wording.Printable(t.String())
	}
	if err := d.s.asked.panel.SetTopic(ctx, d.s.chat.id, state); err != nil {
		return fmt.Errorf("/topic: %w", err)
	}
	d.s.console.Say("%s", said)
	if next != "" {
		d.next = next
		d.s.asked.panel.ConfirmTopic(d.s.chat.id, next)
	}
	return nil
}

func (d *dialogue) showTopic(state topic.State) {
	if state.Current == nil {
		d.s.console.Say("There is no topic: %s.", topicUsage)
	} else {
		d.s.console.Say("%s", wording.Printable(state.Current.String()))
	}
	if p := state.Pending; p != nil {
		d.s.console.Say("%s", pendingText(*p))
	}
}

// pendingText returns how a person confirms or drops a pending topic.
func pendingText(p topic.Pending) string {
	return fmt.Sprintf("pending: %s; /topic yes goes over to it and asks again: %s; /topic no forgets it", plain.Line(p.Topic.Name), wording.Quoted(p.Question))
}

// parseTopic reads "Tyburn; location: London; era: 1196-1783".
func parseTopic(text string) (topic.Topic, error) {
	name, details, _ := strings.Cut(text, ";")
	t := topic.Topic{Name: strings.TrimSpace(name)}
	if t.Name == "" {
		return t, errors.New("it has no name")
	}
	for detail := range strings.SplitSeq(details, ";") {
		if strings.TrimSpace(detail) == "" {
			continue
		}
		key, value, found := strings.Cut(detail, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); !found || key == "" {
			return t, fmt.Errorf("%q is no detail", wording.Shortened(strings.TrimSpace(detail), 40))
		}
		if t.Details == nil {
			t.Details = map[string]string{}
		}
		t.Details[key] = strings.TrimSpace(value)
	}
	return t, nil
}
