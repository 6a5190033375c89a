package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// rename gives the session another title.
func (d *dialogue) rename(title string) error {
	err := d.retitle(context.Background(), d.s.chat.id, title)
	if errors.Is(err, sessions.ErrNoSession) {
		err = errNoTurn
	}
	if err != nil {
		return fmt.Errorf("/rename: %w", err)
	}
	d.s.console.Say("This session is now %q.", plain.Line(strings.TrimSpace(title)))
	return nil
}

// retitle gives a session another title, without the secrets in it.
func (d *dialogue) retitle(ctx context.Context, id, title string) error {
	title = strings.TrimSpace(d.s.console.Secrets.Redact(title))
	if title == "" {
		return errors.New("the title is empty, and lists show a session by it")
	}
	return d.s.store.Sessions.SetTitle(ctx, id, title)
}
