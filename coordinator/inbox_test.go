package coordinator

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// numbered is a post with its sender and its place among the sender's posts.
type numbered struct {
	sender, place int
	replies       *[]error
}

func (numbered) Events(kernel.Time) ([]turn.Event, error) { return nil, nil }
func (numbered) EndsWork() bool                           { return false }
func (n numbered) Reply(err error)                        { *n.replies = append(*n.replies, err) }

// TestOneGoroutineTakesPosts at a time, each post once, in the order of its sender.
func TestOneGoroutineTakesPosts(t *testing.T) {
	const senders, posts = 8, 500
	var b inbox
	var taken [senders][]int
	var isTaking atomic.Bool
	count, all := 0, make(chan struct{})
	b.put(numbered{sender: 0, place: 0}) // it waits for the first take
	b.take = func() {
		for list := b.next(); len(list) > 0; list = b.next() {
			if !isTaking.CompareAndSwap(false, true) {
				t.Error("two goroutines take posts")
			}
			for _, p := range list {
				n := p.(numbered)
				taken[n.sender] = append(taken[n.sender], n.place)
				if count++; count == senders*posts {
					close(all)
				}
			}
			isTaking.Store(false)
		}
	}
	go b.take()
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for place := range posts {
				switch {
				case sender == 0 && place == 0:
				case place%2 == 0:
					b.put(numbered{sender: sender, place: place})
				case b.add(numbered{sender: sender, place: place}):
					b.take()
				}
			}
		})
	}
	group.Wait()
	<-all
	for sender, places := range taken {
		if !slices.IsSorted(places) || len(places) != posts {
			t.Errorf("sender %d: %d posts, in order: %v", sender, len(places), slices.IsSorted(places))
		}
	}
}

// TestClosedInboxRefuses what was not taken, and what comes later.
func TestClosedInboxRefuses(t *testing.T) {
	var b inbox
	var replies []error
	post := numbered{replies: &replies}
	b.put(post)
	b.close()
	b.put(post)
	b.add(post)
	if !slices.Equal(replies, []error{driver.ErrOver, driver.ErrOver, driver.ErrOver}) {
		t.Errorf("the replies are %v", replies)
	}
}
