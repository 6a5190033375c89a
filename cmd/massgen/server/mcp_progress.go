package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/system/plain"
)

// mostProgress is the length of the longest notification, in bytes: clients show one line.
const mostProgress = 400

// progress sends notifications about a turn to a client that has sent a token for them. It sends one at
// least every keepAlive, because clients give up silent calls.
type progress struct {
	log     *slog.Logger
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	began   time.Time

	mu      sync.Mutex // guards what follows
	count   int
	last    time.Time
	thought strings.Builder // the unfinished line of reasoning

	keeper *keeper // nil without a token
}

func (m *mcpServer) openProgress(ctx context.Context, call *mcp.CallToolRequest) *progress {
	now := time.Now()
	p := &progress{log: m.respond.log, ctx: ctx, session: call.Session, token: call.Params.GetProgressToken(), began: now, last: now}
	if p.token != nil {
		p.keeper = newKeeper(p.keepAlive)
	}
	return p
}

func (p *progress) keepAlive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) >= keepAlive {
		p.send("the panel has been at work for " + time.Since(p.began).Round(time.Second).String())
	}
}

// tell sends the agents' messages to each other, one paragraph at a time.
func (p *progress) tell(next piece) {
	if p.token == nil || next.reasoning == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	end := strings.LastIndexByte(next.reasoning, '\n')
	if end < 0 {
		p.thought.WriteString(next.reasoning)
		return
	}
	p.thought.WriteString(next.reasoning[:end])
	if text := strings.Join(strings.Fields(p.thought.String()), " "); text != "" {
		p.send(plain.Cut(plain.Line(text), mostProgress))
	}
	p.thought.Reset()
	p.thought.WriteString(next.reasoning[end+1:])
}

// send sends one notification. The caller holds mu.
func (p *progress) send(text string) {
	p.count++
	p.last = time.Now()
	err := p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: float64(p.count), Message: text})
	if err != nil {
		p.log.Debug("a client is told of no progress", "error", err)
	}
}
