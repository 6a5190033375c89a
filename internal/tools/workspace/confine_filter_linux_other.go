//go:build linux && !amd64 && !arm64

package workspace

// There is no filter for these architectures, so CanFence returns false.
const (
	filterable   = false
	filterArch   = 0
	otherNumbers = 0
)

func oldAttributeCalls() []uint32 { return nil }

func oldModeCalls(func(call, argument uint32) limitedCall) []limitedCall { return nil }
