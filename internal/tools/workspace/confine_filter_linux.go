package workspace

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Where the kernel's struct seccomp_data has what a filter looks at. Of an argument's
// eight bytes the low half comes first: both architectures are little-endian.
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

// neverCalls lead around the fence, or to what is not files: a socket leads to services
// and the network, a ring does what the filter would refuse, handles open files by number,
// keyrings hold passwords.
func neverCalls() []uint32 {
	return []uint32{
		unix.SYS_SOCKET, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
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

// ipcCalls reach memory, queues and locks that have no place among the files, and that
// all processes of a user have in common.
func ipcCalls() []uint32 {
	return []uint32{
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	}
}

// limitedCall is a system call that is allowed only if one of its arguments, of which the
// mask says what counts, has one of some values.
type limitedCall struct {
	call     uint32
	argument uint32
	mask     uint32
	values   []uint32
}

const (
	wholeArgument = ^uint32(0)
	// socketType is what of socketpair's argument is no flag.
	socketType = 0xf
)

// pairCalls make a pair of sockets, which is a pipe unless it is for datagrams: these can
// be sent to any socket that has a name.
func pairCalls() []limitedCall {
	return []limitedCall{{unix.SYS_SOCKETPAIR, 1, socketType, []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}}}
}

// setID are the bits of a mode that lend the rights of a file's owner, or of its group, to
// whoever runs it: another user of the machine would become this one.
const setID = unix.S_ISUID | unix.S_ISGID

// modeCalls give a file its mode. They are about no file that lends rights.
func modeCalls() []limitedCall {
	lendsNone := func(call, argument uint32) limitedCall { return limitedCall{call, argument, setID, []uint32{0}} }
	return append(oldModeCalls(lendsNone),
		lendsNone(unix.SYS_FCHMOD, 1), lendsNone(unix.SYS_FCHMODAT, 2), lendsNone(unix.SYS_FCHMODAT2, 2),
		lendsNone(unix.SYS_OPENAT, 3), lendsNone(unix.SYS_MKNODAT, 2),
	)
}

// unseenCalls have their mode where a filter cannot look. Programs do without them.
func unseenCalls() []uint32 { return []uint32{unix.SYS_OPENAT2} }

// processCalls change what the system gives another process, or even end it by a limit,
// unless they are about the caller, which is 0.
func processCalls() []limitedCall {
	self := []uint32{0}
	return []limitedCall{
		{unix.SYS_PRLIMIT64, 0, wholeArgument, self}, {unix.SYS_SETPRIORITY, 1, wholeArgument, self},
		{unix.SYS_IOPRIO_SET, 1, wholeArgument, self}, {unix.SYS_SCHED_SETAFFINITY, 0, wholeArgument, self},
		{unix.SYS_SCHED_SETSCHEDULER, 0, wholeArgument, self}, {unix.SYS_SCHED_SETPARAM, 0, wholeArgument, self},
		{unix.SYS_SCHED_SETATTR, 0, wholeArgument, self},
	}
}

// setFilter has the kernel refuse calls of this thread and of what it becomes. Without
// namespaces of its own there are more of them.
func setFilter(ownSpaces bool) error {
	never, some := neverCalls(), slices.Concat(pairCalls(), modeCalls())
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

// filterProgram refuses calls, some of them only with certain arguments. A program for
// another architecture, whose calls have other numbers, is killed.
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

// verdict ends a filter by the argument of a call.
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
