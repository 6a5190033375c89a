package engine

import (
	"sync"

	"github.com/massgen/massgen/internal/system/blob"
)

// recentTexts are texts that were read or stored lately, for all turns of a worker. A text never
// changes, so one of them is valid as long as it is wanted. It is safe for concurrent use.
type recentTexts struct {
	mu sync.Mutex
	// young has the texts that were used since old was replaced. Their size is bytes.
	young, old map[blob.Ref][]byte
	bytes      int
}

// The most bytes of all recent texts, and of one of them.
const (
	mostRecent     = 32 << 20
	mostRecentText = 1 << 20
)

func newRecentTexts() *recentTexts { return &recentTexts{young: map[blob.Ref][]byte{}} }

func (r *recentTexts) get(ref blob.Ref) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.young[ref]; ok {
		return data, true
	}
	data, ok := r.old[ref]
	if ok {
		r.keep(ref, data)
	}
	return data, ok
}

// add keeps a text, which nobody may change any more.
func (r *recentTexts) add(ref blob.Ref, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, isThere := r.young[ref]; !isThere && len(data) <= mostRecentText {
		r.keep(ref, data)
	}
}

func (r *recentTexts) keep(ref blob.Ref, data []byte) {
	if r.bytes > mostRecent/2 {
		r.young, r.old, r.bytes = map[blob.Ref][]byte{}, r.young, 0
	}
	r.young[ref] = data
	r.bytes += len(data)
}
