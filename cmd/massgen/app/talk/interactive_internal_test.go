package talk

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

// TestInterruptsSoonAfterATurn that was interrupted are for that turn; later ones are for the
// prompt.
func TestInterruptsSoonAfterATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown strings.Builder
		p := testProgram(t)
		p.Console.Err = &shown
		s := &terminal{console: p.Console, env: p.Env, cut: time.Now()}
		signals, end := make(chan os.Signal), make(chan error)
		go func() {
			_, err := s.nextLine(&keyboard{prompt: func() {}}, signals)
			end <- err
		}()
		time.Sleep(hurry - 1)
		for range 3 {
			signals <- os.Interrupt
		}
		synctest.Wait()
		if shown.Len() > 0 {
			t.Errorf("shown is %q", shown.String())
		}
		time.Sleep(time.Nanosecond)
		signals <- os.Interrupt
		signals <- os.Interrupt
		if err := <-end; !errors.Is(err, cmdline.ErrQuit) || shown.String() != "massgen: interrupt again, or /quit, to leave\n" {
			t.Errorf("%v, and shown is %q", err, shown.String())
		}
	})
}
