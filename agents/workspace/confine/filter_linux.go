package confine

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the kernel's struct seccomp_data has what a filter looks at. The low half of
// the first argument comes first: both architectures are little-endian.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

const (
	allowed  = unix.SECCOMP_RET_ALLOW
	refused  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	notThere = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	killed   = unix.SECCOMP_RET_KILL_PROCESS
)

// neverCalls lead around the fence, or to what is not files: a ring does what the
// filter would refuse, handles open files by number, keyrings hold passwords.
func neverCalls() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	}
}

// attributeCalls change modes, owners, times and attributes of files.
func attributeCalls() []uint32 {
	return append(oldAttributeCalls(),
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	)
}

// filter has the kernel refuse calls of this thread and of what it becomes.
func (f *Fence) filter(attributes bool) error {
	calls := neverCalls()
	if attributes {
		calls = append(calls, attributeCalls()...)
	}
	var families []uint32
	if f.Network {
		families = []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	}
	program := filterProgram(calls, families)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	mode, at := uintptr(unix.SECCOMP_MODE_FILTER), uintptr(unsafe.Pointer(&prog))
	if err := unix.Prctl(unix.PR_SET_SECCOMP, mode, at, 0, 0); err != nil {
		return fmt.Errorf("set the filter: %w", err)
	}
	return nil
}

// filterProgram refuses the calls, and sockets but of the families. A program for
// another architecture, whose calls have other numbers, is killed.
func filterProgram(calls, families []uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	end := func(verdict uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
	}
	// skipIf skips instructions if the value is k; skipUnless one, if the test fails.
	skipIf := func(k uint32, skipped uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: skipped, K: k}
	}
	skipUnless := func(test uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jf: 1, K: k}
	}
	program := []unix.SockFilter{
		load(offsetArch), skipIf(filterArch, 1), end(killed),
		load(offsetNumber), skipUnless(unix.BPF_JGE, otherNumbers), end(notThere),
	}
	for _, call := range calls {
		program = append(program, skipUnless(unix.BPF_JEQ, call), end(refused))
	}
	program = append(program, skipIf(unix.SYS_SOCKET, 1), end(allowed), load(offsetArgument))
	for _, family := range families {
		program = append(program, skipUnless(unix.BPF_JEQ, family), end(allowed))
	}
	return slices.Concat(program, []unix.SockFilter{end(refused)})
}
