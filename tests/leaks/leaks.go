// Package leaks finds goroutines that tests leave behind.
package leaks

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end. goleak itself waits for less than a
// second, which is little on a busy machine.
const patience = time.Minute

// Find returns an error that shows the goroutines that are left, but for the caller's and
// those that the options name, once they have had a minute to end.
func Find(options ...goleak.Option) error {
	for late := time.Now().Add(patience); ; {
		if err := goleak.Find(options...); err == nil || time.Now().After(late) {
			return err
		}
	}
}

// Check fails t if goroutines are left when it is over. It is called first, so that it
// looks when all else has been cleaned up.
func Check(t testing.TB) {
	t.Cleanup(func() {
		if err := Find(); err != nil {
			t.Error(err)
		}
	})
}

// Main runs the tests of a package and exits. It is for TestMain, and fails if goroutines
// are left after tests that passed. Several tests run at a time, as Waiting says.
func Main(m *testing.M) {
	Waiting()
	status := m.Run()
	if status == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left after the tests:", err)
			status = 1
		}
	}
	os.Exit(status)
}

// Waiting has more parallel tests run at a time than there are processors, unless a flag
// says how many: most of them wait for other processes. It is called before the tests run.
func Waiting() {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of package testing
	}
}
