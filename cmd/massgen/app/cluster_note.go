package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/coordinator"
)

// noteCommand adds to the question of a turn that workers play.
func (p *program) noteCommand() *cli.Command {
	return &cli.Command{
		Name: "note", Usage: "add TEXT to the question of the turn that runs in a session", UsageText: "massgen-temporal note SESSION TEXT",
		Flags:  p.options.clusterFlags(p.env.Cluster),
		Action: func(c *cli.Context) error { return p.note(c.Context, p.words) },
	}
}

func (p *program) note(ctx context.Context, words []string) (err error) {
	switch {
	case len(words) != 2:
		return errors.New("note: its form is: massgen-temporal note SESSION TEXT; a text of several words is put in quotes")
	case p.options.cluster.engine == localEngine:
		return errors.New("note: --engine local plays turns within one process: type /note TEXT there")
	case p.storage().database() == "":
		return fmt.Errorf("note: it needs --database URL, or %s: the store that all workers share", databaseVariable)
	}
	p.hideKeys()
	at, err := p.engineAddress()
	if err != nil {
		return err
	}
	store, err := p.storage().open(ctx)
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, connection, err := p.env.Cluster.Connect(ctx, at)
	if err != nil {
		return fmt.Errorf("note: --temporal-address: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := coordinator.NoteRemote(ctx, engine, store.Sessions, words[0], words[1]); err != nil {
		return err
	}
	p.console.say("massgen: noted: each agent is told before its next call")
	return nil
}
