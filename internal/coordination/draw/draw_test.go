package draw_test

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/internal/coordination/draw"
)

// TestOrderIsFixed: journals are replayed with the orders of their turns.
func TestOrderIsFixed(t *testing.T) {
	t.Parallel()
	if got, want := draw.Order(6, 1, 2, 3, 4), []int{1, 4, 0, 5, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	if got := draw.Order(0, 1); len(got) != 0 {
		t.Errorf("the order of nothing is %v", got)
	}
}

// TestOrderIsFair counts how often each number comes to each place.
func TestOrderIsFair(t *testing.T) {
	t.Parallel()
	const n, draws = 5, 20_000
	var counts [n][n]int
	for seed := range uint64(draws) {
		order := draw.Order(n, seed, 3)
		for place, x := range order {
			counts[x][place]++
		}
	}
	for x := range counts {
		for place, count := range counts[x] {
			if want := draws / n; count < want*9/10 || count > want*11/10 {
				t.Errorf("%d comes to place %d in %d of %d orders", x, place, count, draws)
			}
		}
	}
}
