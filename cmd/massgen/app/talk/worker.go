package talk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
)

// Work plays the turns of others until an interrupt.
func Work(ctx context.Context, p *program.Program, words []string) (err error) {
	switch {
	case len(words) > 0:
		return errors.New("worker: it takes no question")
	case p.Kept.Database() == "":
		return fmt.Errorf("worker: it needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
	}
	p.Options.Display.NoDisplay, p.Options.Cluster.Engine = true, cmdline.LocalEngine
	p.Options.Worker = true
	p.Log = p.Logger()
	at, err := p.Engines.Address()
	if err != nil {
		return err
	}
	if at.Log = p.Log; !p.Log.Enabled(ctx, slog.LevelInfo) { // nobody sits before a worker
		at.Log = slog.New(slog.NewTextHandler(p.Console.Err, nil))
	}
	s, err := openSession(ctx, p, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	working, stop := p.Watch.Context(ctx)
	defer stop()
	p.Console.Say("massgen: working for the queue %s of Temporal at %s, with %s", at.Queue, at.Address, s.asked.panel.Names())
	return p.Env.Cluster.Work(working, at, s.asked.panel.Coordinator(), p.Console.Secrets.Redact)
}
