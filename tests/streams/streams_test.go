package main

import (
	"os"
	"testing"
	"time"
)

// TestMain is the model server where measure starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == modelRole {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestStreamsComeWhole checks what does not depend on the machine: no stream is dropped or mixed up
// with another, although some clients read nothing, and none takes much memory. A panel answers the same by
// the command line and by the server.
func TestStreamsComeWhole(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := options{streams: 40, slow: 4, length: time.Second, every: 50 * time.Millisecond, panel: 2}
	r, err := measure(t.Context(), self, o)
	if err != nil {
		t.Fatal(err)
	}
	r.print(t.Output(), o)
	if len(r.asked.turn) != o.panel || len(r.asked.served) != o.panel {
		t.Errorf("the panel has answered %d and %d times", len(r.asked.turn), len(r.asked.served))
	}
	if r.bare.whole != o.streams || r.served.whole != o.streams || r.each(o) >= mostEach {
		t.Errorf("%d of %d streams came whole, and each took %d KiB", r.served.whole, o.streams, r.each(o)>>10)
	}
}
