package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/system/plain"
)

// mostProgress is how long a line of progress may be: clients have one line for it.
const mostProgress = 400

// progress tells a client how its turn goes on, if it has asked for that with a token. It is not
// silent for longer than keepAlive: clients give up calls of which they hear nothing.
type progress struct {
	server  *mcpServer
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	began   time.Time

	mu      sync.Mutex // guards what follows
	count   int
	last    time.Time
	thought string // reasoning of which the line is not over

	done   chan struct{}
	keeper sync.WaitGroup
}

func (m *mcpServer) openProgress(ctx context.Context, call *mcp.CallToolRequest) *progress {
	now := time.Now()
	p := &progress{server: m, ctx: ctx, session: call.Session, token: call.Params.GetProgressToken(), began: now, last: now, done: make(chan struct{})}
	if p.token != nil {
		p.keeper.Go(p.keepAlive)
	}
	return p
}

func (p *progress) close() {
	close(p.done)
	p.keeper.Wait()
}

func (p *progress) keepAlive() {
	everyKeepAlive(p.done, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if time.Since(p.last) >= keepAlive {
			p.send("the panel has been at work for " + time.Since(p.began).Round(time.Second).String())
		}
	})
}

// tell tells of what the agents say to each other, a paragraph at a time.
func (p *progress) tell(next piece) {
	if p.token == nil || next.reasoning == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.thought += next.reasoning
	end := strings.LastIndexByte(p.thought, '\n')
	if end < 0 {
		return
	}
	if text := strings.Join(strings.Fields(p.thought[:end]), " "); text != "" {
		p.send(plain.Cut(plain.Line(text), mostProgress))
	}
	p.thought = p.thought[end+1:]
}

// send sends one notification. The caller holds mu.
func (p *progress) send(text string) {
	p.count++
	p.last = time.Now()
	err := p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: float64(p.count), Message: text})
	if err != nil {
		p.server.Log.Debug("a client is told of no progress", "error", err)
	}
}
