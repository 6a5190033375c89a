//go:build linux && !amd64 && !arm64

package confine

// There is no filter here, so there are no fences (available).
const (
	filterable   = false
	filterArch   = 0
	otherNumbers = 0
)

func oldAttributeCalls() []uint32 { return nil }

func oldModeCalls(func(call, argument uint32) limited) []limited { return nil }
