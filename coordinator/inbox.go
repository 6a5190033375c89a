package coordinator

import (
	"sync"

	"github.com/massgen/massgen/internal/driver"
)

// inbox holds posts until the turn's player takes them. The player is no goroutine: it is a function,
// which runs while there are posts. The goroutine that adds a post to an idle inbox runs the player, so
// that no other goroutine must wake up for a result. It is safe for concurrent use.
type inbox struct {
	mu    sync.Mutex
	posts []driver.Post
	// player takes posts until next returns none, or has another goroutine take them. It runs once until
	// next returns none.
	player func()
	// isIdle says that the player does not run. It is false before open.
	isIdle bool
	isOver bool
}

// open lets the player run. If posts wait, or atOnce is true, it runs at once in a goroutine of its own.
func (b *inbox) open(player func(), atOnce bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.player = player
	if atOnce || len(b.posts) > 0 {
		go player()
		return
	}
	b.isIdle = true
}

// put adds a post, or replies to it at once after close, and returns at once.
func (b *inbox) put(p driver.Post) {
	if b.add(p) {
		go b.player()
	}
}

// add is put for a goroutine that can run the player itself: it reports whether the goroutine must.
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

// close refuses all posts that the player has not taken, and all later ones.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isOver = true
	for _, p := range b.posts {
		p.Reply(driver.ErrOver)
	}
	b.posts = nil
}
