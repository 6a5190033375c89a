package talk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/models/attach"
)

// attached returns the context of a question with its files. The first question has those of --attach,
// too.
func attached(ctx context.Context, s *session) context.Context {
	ctx = attach.With(ctx, slices.Concat(attach.Of(ctx), s.options.Attach.Files))
	s.options.Attach.Files = nil
	if files := attach.Of(ctx); len(files) > 0 {
		names := make([]string, len(files))
		for i, f := range files {
			names[i] = f.Name
		}
		s.feed.remark("attached: %s", strings.Join(names, ", "))
	}
	return ctx
}

// errAttachedToNothing is for a command line that goes on with a question that was asked.
var errAttachedToNothing = errors.New("--attach: --continue without a question goes on with the turn that was interrupted, which has its files: give a question, or leave --attach out")
