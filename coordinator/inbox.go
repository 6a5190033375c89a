package coordinator

import (
	"sync"

	"github.com/massgen/massgen/internal/driver"
)

// inbox holds posts until the turn's driver takes them. It is safe for concurrent use.
type inbox struct {
	mu    sync.Mutex
	posts []driver.Post
	// arrived has one element while posts wait.
	arrived chan struct{}
	over    chan struct{} // closed by close
}

func newInbox() *inbox {
	return &inbox{arrived: make(chan struct{}, 1), over: make(chan struct{})}
}

// put adds a post, or replies to it at once after close.
func (b *inbox) put(p driver.Post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.over:
		p.Reply(driver.ErrOver)
		return
	default:
	}
	b.posts = append(b.posts, p)
	select {
	case b.arrived <- struct{}{}:
	default: // arrived has its element already
	}
}

// wait waits for a post, and takes all waiting posts.
func (b *inbox) wait() []driver.Post {
	<-b.arrived
	return b.take()
}

// take takes all waiting posts.
func (b *inbox) take() []driver.Post {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts
}

// close refuses all posts that the driver has not taken, and all later ones.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.over)
	for _, p := range b.posts {
		p.Reply(driver.ErrOver)
	}
	b.posts = nil
}
