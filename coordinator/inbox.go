package coordinator

import (
	"sync"

	"github.com/massgen/massgen/internal/coordination/driver"
)

// inbox holds posts until the turn's player or watcher takes them. Neither needs a goroutine that waits:
// the goroutine that adds a post to an idle inbox calls take, so that no other one must wake up for a
// result. It is safe for concurrent use.
type inbox struct {
	mu    sync.Mutex
	posts []driver.Post
	// take takes posts until next returns none, or has another goroutine do it. Until then nobody else
	// calls take. The owner sets it before it calls it for the first time.
	take func()
	// isIdle says that nobody takes posts now. It is false until next has returned none.
	isIdle bool
	isOver bool
}

// put adds a post, or replies to it at once after close, and returns at once.
func (b *inbox) put(p driver.Post) {
	if b.add(p) {
		go b.take()
	}
}

// add is put for a goroutine that can take posts itself. It reports whether the goroutine must.
func (b *inbox) add(p driver.Post) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isOver {
		p.Reply(driver.ErrOver)
		return false
	}
	b.posts = append(b.posts, p)
	wasIdle := b.isIdle
	b.isIdle = false
	return wasIdle
}

// next takes all waiting posts. If it returns none, the inbox is idle.
func (b *inbox) next() []driver.Post {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	b.isIdle = len(posts) == 0
	return posts
}

// close refuses all posts that were not taken, and all later ones.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isOver = true
	for _, p := range b.posts {
		p.Reply(driver.ErrOver)
	}
	b.posts = nil
}
