package coordinator

import (
	"slices"
	"sync"
	"testing"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// numbered is a post with its sender, and its place among the posts of that sender.
type numbered struct {
	sender, place int
	replies       *[]error
}

func (numbered) Events(kernel.Time) ([]turn.Event, error) { return nil, nil }
func (numbered) EndsWork() bool                           { return false }
func (n numbered) Reply(err error)                        { *n.replies = append(*n.replies, err) }

// TestInboxKeepsTheOrderOfItsSenders: each post is taken once, in the order of its sender.
func TestInboxKeepsTheOrderOfItsSenders(t *testing.T) {
	const senders, posts = 8, 500
	b := newInbox()
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for place := range posts {
				b.put(numbered{sender: sender, place: place})
			}
		})
	}
	var taken [senders][]int
	for count := 0; count < senders*posts; {
		list := b.next()
		for _, p := range list {
			n := p.(numbered)
			taken[n.sender] = append(taken[n.sender], n.place)
		}
		count += len(list)
	}
	group.Wait()
	for sender, places := range taken {
		if !slices.IsSorted(places) || len(places) != posts {
			t.Errorf("sender %d: %d posts, in order: %v", sender, len(places), slices.IsSorted(places))
		}
	}
}

// TestClosedInboxRefuses the posts that nobody took, and later ones.
func TestClosedInboxRefuses(t *testing.T) {
	b := newInbox()
	var replies []error
	post := numbered{replies: &replies}
	b.put(post)
	b.close()
	b.put(post)
	if !slices.Equal(replies, []error{driver.ErrOver, driver.ErrOver}) {
		t.Errorf("the replies are %v", replies)
	}
}
