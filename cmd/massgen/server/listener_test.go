package server_test

import (
	"context"
	"net"
	"sync"
)

// idleListener is a listener to which nobody comes.
type idleListener struct {
	ctx    context.Context
	closed chan struct{}
	once   sync.Once
}

func newIdleListener(ctx context.Context) *idleListener {
	return &idleListener{ctx: ctx, closed: make(chan struct{})}
}

func (l *idleListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *idleListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *idleListener) Addr() net.Addr { return &net.TCPAddr{} }
