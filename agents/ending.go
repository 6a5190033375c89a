package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/system/plain"
)

// maxFinish is the most characters of a provider's word that are kept.
const maxFinish = 100

// readEnding records how the message ended, once its calls are read.
func readEnding(resp backends.Response, reply *effect.ModelReply) {
	end := finish.Of(resp.Finish)
	reply.Truncated = end == finish.AtLimit
	paused := backends.Finish{Reason: resp.Finish}.Paused()
	hasCalls := len(reply.Calls) > 0
	if end != finish.Whole && !(paused && hasCalls) {
		reply.Finish = plain.Cut(contextbuild.Clean(resp.Finish), maxFinish)
		reply.Cut = end != finish.Unknown || !hasCalls || slices.ContainsFunc(reply.Calls, isBroken)
	}
	if !hasCalls && strings.TrimSpace(resp.Message.Text()) == "" {
		reply.Blank = blank(resp)
	}
}

// isBroken reports whether an act's arguments are not whole.
func isBroken(c effect.Call) bool { return c.IsAct() && c.Problem != "" }

// blank describes a message without a text and a call.
func blank(resp backends.Response) string {
	var said []string
	isThought := func(p backends.Part) bool { _, ok := p.(backends.Reasoning); return ok }
	if slices.ContainsFunc(resp.Message.Parts, isThought) {
		said = append(said, "it has only reasoning")
	}
	if resp.Finish != "" {
		said = append(said, fmt.Sprintf("it ended with %q", plain.Cut(contextbuild.Clean(resp.Finish), maxFinish)))
	}
	if len(said) == 0 {
		return "it has no part at all"
	}
	return strings.Join(said, ", and ")
}
