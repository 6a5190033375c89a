package leaks_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// TestFind has a goroutine that ends in time, and one that does not.
func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		go time.Sleep(50 * time.Second)
		if err := leaks.Find(before); err != nil {
			t.Error(err)
		}
		end := make(chan struct{})
		go stay(end)
		if err := leaks.Find(before); err == nil || !strings.Contains(err.Error(), "leaks_test.stay") {
			t.Errorf("a goroutine that stays: %v", err)
		}
		close(end)
	})
}

func stay(end chan struct{}) { <-end }
