package coordinator

import (
	"sync"

	"github.com/massgen/massgen/internal/coordination/driver"
)

// inbox holds posts until the turn's goroutine takes them. It is safe for concurrent use.
type inbox struct {
	// arrived gets a signal when there are posts. It may get one for posts that were taken before.
	arrived chan struct{}

	mu     sync.Mutex
	posts  []driver.Post
	isOver bool
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

// put adds a post, or replies to it at once after close. It does not block.
func (b *inbox) put(p driver.Post) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOver {
		p.Reply(driver.ErrOver)
		return
	}
	b.posts = append(b.posts, p)
	select {
	case b.arrived <- struct{}{}:
	default: // it has a signal
	}
}

// next waits for posts, and takes them.
func (b *inbox) next() []driver.Post {
	for {
		<-b.arrived
		if posts := b.take(); len(posts) > 0 {
			return posts
		}
	}
}

// take takes the present posts.
func (b *inbox) take() []driver.Post {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts
}

// close refuses the present posts and all later ones.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isOver = true
	for _, p := range b.posts {
		p.Reply(driver.ErrOver)
	}
	b.posts = nil
}
