package workspace

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data. The low half of an argument's eight bytes comes first:
// both architectures are little-endian.
const (
	offsetNumber    = 0
	offsetArch      = 4
	offsetArguments = 16
)

const (
	verdictAllow   = unix.SECCOMP_RET_ALLOW
	verdictRefuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	verdictMissing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	verdictKill    = unix.SECCOMP_RET_KILL_PROCESS
)

// neverCalls returns calls that lead around the fence, or to other things than files: a ring makes calls
// that the filter does not see, handles open files by number, keyrings hold passwords.
func neverCalls() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	}
}

// attributeCalls returns the calls that change modes, owners, times and attributes of files.
func attributeCalls() []uint32 {
	return append(oldAttributeCalls(),
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	)
}

// ipcCalls returns the calls that reach memory, queues and locks outside of the files, which all
// processes of a user share.
func ipcCalls() []uint32 {
	return []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
}

// limitedCall is a system call that is allowed only if the masked bits of one of its arguments have
// one of some values.
type limitedCall struct {
	call     uint32
	argument uint32
	mask     uint32
	values   []uint32
}

const (
	wholeArgument = ^uint32(0)
	// socketType masks the flags in socketpair's argument.
	socketType = 0xf
)

// pairCalls returns the call that makes a pair of sockets. A pair for streams or packets is a pipe,
// but datagrams can be sent to any socket with a name.
func pairCalls() []limitedCall {
	return []limitedCall{{unix.SYS_SOCKETPAIR, 1, socketType, []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}}}
}

// socketCall returns the call that makes a socket, which leads to services and the network, limited to the
// internet protocols if network is true, and to none if it is not.
func socketCall(network bool) limitedCall {
	limited := limitedCall{call: unix.SYS_SOCKET, mask: wholeArgument}
	if network {
		limited.values = []uint32{unix.AF_INET, unix.AF_INET6}
	}
	return limited
}

// setID has the bits of a mode that lend the rights of a file's owner or group to everybody who runs
// the file: another user of the machine would become this one.
const setID = unix.S_ISUID | unix.S_ISGID

// modeCalls returns the calls that set a file's mode, limited to modes that lend no rights.
func modeCalls() []limitedCall {
	lendsNone := func(call, argument uint32) limitedCall { return limitedCall{call, argument, setID, []uint32{0}} }
	return append(oldModeCalls(lendsNone),
		lendsNone(unix.SYS_FCHMOD, 1), lendsNone(unix.SYS_FCHMODAT, 2), lendsNone(unix.SYS_FCHMODAT2, 2),
		lendsNone(unix.SYS_OPENAT, 3), lendsNone(unix.SYS_MKNODAT, 2),
	)
}

// unseenCalls returns calls whose mode is in memory that a filter cannot read. Programs work without
// them.
func unseenCalls() []uint32 { return []uint32{unix.SYS_OPENAT2} }

// processCalls returns calls that change the resources of a process, limited to the caller, which is
// process 0.
func processCalls() []limitedCall {
	self := []uint32{0}
	return []limitedCall{
		{unix.SYS_PRLIMIT64, 0, wholeArgument, self}, {unix.SYS_SETPRIORITY, 1, wholeArgument, self},
		{unix.SYS_IOPRIO_SET, 1, wholeArgument, self}, {unix.SYS_SCHED_SETAFFINITY, 0, wholeArgument, self},
		{unix.SYS_SCHED_SETSCHEDULER, 0, wholeArgument, self}, {unix.SYS_SCHED_SETPARAM, 0, wholeArgument, self},
		{unix.SYS_SCHED_SETATTR, 0, wholeArgument, self},
	}
}

// setFilter makes the kernel refuse calls of this thread and of the command that it becomes. Without
// own namespaces it refuses more calls.
func setFilter(ownSpaces, network bool) error {
	never, some := neverCalls(), append(slices.Concat(pairCalls(), modeCalls()), socketCall(network))
	if !ownSpaces {
		never = slices.Concat(never, attributeCalls(), ipcCalls())
		some = slices.Concat(some, processCalls())
	}
	program := filterProgram(never, some)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	mode, at := uintptr(unix.SECCOMP_MODE_FILTER), uintptr(unsafe.Pointer(&prog))
	if err := unix.Prctl(unix.PR_SET_SECCOMP, mode, at, 0, 0); err != nil {
		return fmt.Errorf("set the filter: %w", err)
	}
	return nil
}

// filterProgram returns a filter that refuses calls, some of them only with certain arguments. It
// kills a program for another architecture, whose calls have other numbers.
func filterProgram(never []uint32, some []limitedCall) []unix.SockFilter {
	program := []unix.SockFilter{
		loadWord(offsetArch), skipIf(filterArch, 1), endWith(verdictKill),
		loadWord(offsetNumber), skipUnless(unix.BPF_JGE, otherNumbers, 1), endWith(verdictMissing),
	}
	for _, call := range never {
		program = append(program, skipUnless(unix.BPF_JEQ, call, 1), endWith(verdictRefuse))
	}
	for _, call := range unseenCalls() {
		program = append(program, skipUnless(unix.BPF_JEQ, call, 1), endWith(verdictMissing))
	}
	for _, l := range some {
		verdict := l.verdict()
		program = append(program, skipUnless(unix.BPF_JEQ, l.call, uint8(len(verdict))))
		program = append(program, verdict...)
	}
	return append(program, endWith(verdictAllow))
}

// verdict returns instructions that end a filter by the argument of a call.
func (l limitedCall) verdict() []unix.SockFilter {
	program := []unix.SockFilter{
		loadWord(offsetArguments + 8*l.argument), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: l.mask},
	}
	for _, value := range l.values {
		program = append(program, skipUnless(unix.BPF_JEQ, value, 1), endWith(verdictAllow))
	}
	return append(program, endWith(verdictRefuse))
}

func loadWord(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func endWith(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

// skipIf skips instructions if the value is k.
func skipIf(k uint32, skipped uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: skipped, K: k}
}

// skipUnless skips instructions if a test of the value against k fails.
func skipUnless(test uint16, k uint32, skipped uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jf: skipped, K: k}
}
