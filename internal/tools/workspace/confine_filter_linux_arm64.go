package workspace

import "golang.org/x/sys/unix"

const (
	filterable   = true
	filterArch   = unix.AUDIT_ARCH_AARCH64
	otherNumbers = 0xffffffff // there are none
)

func oldAttributeCalls() []uint32 { return nil }

func oldModeCalls(func(call, argument uint32) limitedCall) []limitedCall { return nil }
