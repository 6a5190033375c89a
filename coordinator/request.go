package coordinator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/driver"
)

// request is embedded in posts whose senders wait for a reply: a person's note, pause or dismissal.
type request struct {
	reply chan<- error // has room for the one reply
	// fault is the reason why the turn cannot do as requested. Events sets it.
	fault error
}

// Reply implements driver.Post.
func (r *request) Reply(err error) { r.reply <- cmp.Or(err, r.fault) }

// EndsWork implements driver.Post.
func (*request) EndsWork() bool { return false }

// request posts a request, and waits for the reply. what names the request in errors. After an error of
// ctx the turn may still take the post.
func (t *Turn) request(ctx context.Context, what string, post func(request) driver.Post) error {
	reply := make(chan error, 1)
	t.inbox.put(post(request{reply: reply}))
	var err error
	select {
	case err = <-reply:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
