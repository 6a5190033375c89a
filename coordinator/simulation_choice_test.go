package coordinator

import (
	"math/rand/v2"
	"slices"
)

// choices are all that is random in a simulation. They come from a seed, or from a list
// that was made of an earlier run and cut down; 0 is always the plainest choice, and what
// the list does not have is 0.
type choices struct {
	random *rand.Rand
	list   []int
	made   []int
}

func seeded(seed uint64) *choices { return &choices{random: rand.New(rand.NewPCG(seed, 7))} }

func listed(list []int) *choices { return &choices{list: list} }

// below draws one of 0 … n-1.
func (c *choices) below(n int) int {
	v := 0
	switch {
	case c.random != nil:
		v = c.random.IntN(n)
	case len(c.made) < len(c.list):
		v = c.list[len(c.made)] % n
	}
	c.made = append(c.made, v)
	return v
}

// rarely is true once in n times.
func (c *choices) rarely(n int) bool { return c.below(n) == n-1 }

// pick draws one of several; the first is the plainest.
func pick[T any](c *choices, of ...T) T { return of[c.below(len(of))] }

// reduce cuts down the choices of a run that failed, as long as it still fails.
func reduce(list []int, fails func([]int) bool) []int {
	for size := len(list); size > 0; size /= 2 {
		for at := 0; at+size <= len(list); {
			without := append(append([]int{}, list[:at]...), list[at+size:]...)
			if fails(without) {
				list = without
				continue
			}
			zeroed := append([]int{}, list...)
			clear(zeroed[at : at+size])
			if !slices.Equal(zeroed, list) && fails(zeroed) {
				list = zeroed
			}
			at += size
		}
	}
	return list
}
