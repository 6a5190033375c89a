// Package draw draws by arithmetic alone: the same numbers give the same order on every machine and
// in every replay.
package draw

// Order returns an order of the numbers from 0 to n-1 that follows from some numbers.
func Order(n int, from ...uint64) []int {
	state := uint64(n)
	for _, x := range from {
		state = mix(state ^ mix(x))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		state += golden
		j := int(mix(state) % uint64(i+1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}

const golden = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64.
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
