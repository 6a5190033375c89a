package workspace

import "golang.org/x/sys/unix"

const (
	filterable = true
	filterArch = unix.AUDIT_ARCH_X86_64
	// otherNumbers is where the numbers of the x32 architecture begin.
	otherNumbers = 0x40000000
)

func oldAttributeCalls() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}

func oldModeCalls(lendsNone func(call, argument uint32) limitedCall) []limitedCall {
	return []limitedCall{lendsNone(unix.SYS_CHMOD, 1), lendsNone(unix.SYS_CREAT, 1), lendsNone(unix.SYS_OPEN, 2), lendsNone(unix.SYS_MKNOD, 1)}
}
