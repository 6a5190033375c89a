package panels

import (
	"context"
	"errors"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
)

// addHooks adds the settings' hooks to the turns of a panel. They run after those of the panel itself.
func (s *Settings) addHooks(opts *coordinator.Options) {
	if own := opts.BeforeTurn; len(s.BeforeTurn) > 0 {
		opts.BeforeTurn = func(ctx context.Context, t *coordinator.Turn) error {
			if own != nil {
				if err := own(ctx, t); err != nil {
					return err
				}
			}
			for _, f := range s.BeforeTurn {
				if err := f(ctx, t); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if own := opts.AfterTurn; len(s.AfterTurn) > 0 {
		opts.AfterTurn = func(ctx context.Context, t *coordinator.Turn, r report.Result) error {
			var err error
			if own != nil {
				err = own(ctx, t, r)
			}
			for _, f := range s.AfterTurn {
				err = errors.Join(err, f(ctx, t, r))
			}
			return err
		}
	}
}
