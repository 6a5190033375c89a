package engine

import (
	"cmp"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
)

// home is where the tools of a turn's agents are, and what these have made.
type home struct {
	// Queue is that of the worker that has them, empty where no agent has tools, or all
	// have lost them.
	Queue string `json:"queue,omitempty"`
	// Token is that of the markers in its folders.
	Token string `json:"token,omitempty"`
	// Lost says by agent why its tools are not to be had any more.
	Lost map[int]string `json:"lost,omitempty"`
}

// of returns the queue on which an effect is done, "" for any worker's, or why it is a call
// of tools that are lost.
func (h home) of(e effect) (queue, lost string) {
	if e.Tool == nil {
		return "", ""
	}
	if lost = h.Lost[e.Tool.Key.Agent]; lost != "" {
		return "", lost
	}
	return h.Queue, ""
}

// homePatience is after how many heartbeats a worker that does not take an effect is lost.
const homePatience = 3

// leaveHome has another home looked for when a queue's worker is lost. It returns when that is
// over, or when ctx is.
func (p *player) leaveHome(ctx workflow.Context, lost string) {
	if p.home.Queue == lost && !p.moving {
		p.moving = true
		workflow.Go(p.root, func(ctx workflow.Context) {
			p.home = p.findHome(ctx)
			p.moving = false
		})
	}
	p.awaitHome(ctx)
}

// awaitHome returns when no home is looked for, or when ctx is done.
func (p *player) awaitHome(ctx workflow.Context) {
	_ = workflow.Await(ctx, func() bool { return !p.moving }) // that ctx is done its owner finds out
}

// homeTries is how many workers are asked whether they can be the new home; there may be
// several that cannot, and who is asked is left to the server.
const homeTries = 8

// nobodyAsked is why tools are lost if no worker could say whether it has them.
const nobodyAsked = "no other one could be asked"

// findHome asks workers whether they see the folders of the one that was lost. The first
// that sees all is the new home, else one that sees those of most agents. An agent whose
// folders the new home does not see has lost its tools.
func (p *player) findHome(ctx workflow.Context) home {
	best := adopted{Lost: map[int]string{}}
	for i := range p.machine.Turn().Agents {
		best.Lost[i] = cmp.Or(p.home.Lost[i], nobodyAsked)
	}
	for try := 0; try < homeTries && p.home.Token != ""; try++ { // a turn that was begun without has no markers
		if try > 0 && workflow.Sleep(ctx, time.Second) != nil {
			break
		}
		options := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 30 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		var a adopted
		if err := workflow.ExecuteActivity(options, adoptName, p.home).Get(ctx, &a); err != nil {
			workflow.GetLogger(ctx).Warn("a worker did not say whether the tools can go on there", "error", err)
			continue
		}
		if best.Queue == "" || len(a.Lost) < len(best.Lost) {
			best = a
		}
		if len(best.Lost) == len(p.home.Lost) {
			break
		}
	}
	if len(best.Lost) == len(p.machine.Turn().Agents) {
		best.Queue = ""
	}
	return home{best.Queue, p.home.Token, best.Lost}
}

// unmark has the markers removed from the folders of the home, which is not waited for
// long: nobody looks for them any more.
func (p *player) unmark() {
	if p.home.Queue == "" || p.home.Token == "" || p.moving {
		return
	}
	ctx := workflow.WithActivityOptions(p.root, workflow.ActivityOptions{
		TaskQueue: p.home.Queue, ScheduleToStartTimeout: p.in.Settings.Heartbeat, StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	if err := workflow.ExecuteActivity(ctx, unmarkName, p.home.Token).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("markers were left in folders of agents", "error", err)
	}
}

// needsHome says that agents have tools, or folders.
func needsHome(agents []machine.Agent) bool {
	return slices.ContainsFunc(agents, func(a machine.Agent) bool { return a.Tools != kernel.Ref{} || a.Workspace })
}
