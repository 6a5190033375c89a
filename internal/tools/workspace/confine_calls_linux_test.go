package workspace

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callsArg makes this program one that makes hostile calls.
const callsArg = "__hostile_calls"

// target is what hostile calls aim at: a process, a name that a service gets datagrams
// at, memory that processes share, and a file that is no business of theirs.
type target struct {
	Victim   int    `json:"victim"`
	Datagram string `json:"datagram"`
	Memory   int    `json:"memory"`
	File     string `json:"file"`
	Outside  string `json:"outside"`
}

// hostileCalls are made one after the other by one process. Each returns nil if it got
// what it must not get.
var hostileCalls = []struct {
	name string
	make func(target) error
}{
	{"a datagram to a service, from a pair of sockets", func(at target) error { return sendFromPair(unix.SOCK_DGRAM, at.Datagram) }},
	{"the same from a raw pair", func(at target) error { return sendFromPair(unix.SOCK_RAW, at.Datagram) }},
	{"the same from a pair of streams", func(at target) error { return sendFromPair(unix.SOCK_STREAM, at.Datagram) }},
	{"the same from a pair of packets", func(at target) error { return sendFromPair(unix.SOCK_SEQPACKET, at.Datagram) }},
	{"a socket of this machine", func(target) error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) }},
	{"a socket to the internet", func(target) error { return socket(unix.AF_INET, unix.SOCK_DGRAM) }},
	{"a socket of the kernel's", func(target) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) }},
	{"a socket to the host", func(target) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM) }},
	{"shared memory of another process", func(at target) error {
		_, err := unix.SysvShmAttach(at.Memory, 0, 0)
		return err
	}},
	{"a trace of another process", func(at target) error { return unix.PtraceSeize(at.Victim) }},
	{"the memory of another process", func(at target) error {
		local, there := make([]byte, 1), unix.RemoteIovec{Base: 1 << 20, Len: 1}
		_, err := unix.ProcessVMReadv(at.Victim, []unix.Iovec{{Base: &local[0], Len: 1}}, []unix.RemoteIovec{there}, 0)
		if errors.Is(err, unix.EFAULT) {
			return nil // it may read, and there is nothing at that address
		}
		return err
	}},
	{"an open file of another process", func(at target) error {
		fd, err := unix.PidfdOpen(at.Victim, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 1, 0)
		}
		return err
	}},
	{"a signal by a process's file", func(at target) error {
		fd, err := unix.PidfdOpen(at.Victim, 0)
		if err == nil {
			err = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
		}
		return err
	}},
	{"a limit of another process", func(at target) error {
		return unix.Prlimit(at.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 8, Max: 8}, nil)
	}},
	{"the priority of another process", func(at target) error { return unix.Setpriority(unix.PRIO_PROCESS, at.Victim, 19) }},
	{"the processors of another process", func(at target) error {
		var first unix.CPUSet
		first.Set(0)
		return unix.SchedSetaffinity(at.Victim, &first)
	}},
	// The first of these has the second do nothing to this machine where it succeeds.
	{"mounts of its own", func(target) error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}},
	{"a mount", func(at target) error { return unix.Mount("none", at.Outside, "tmpfs", 0, "") }},
	{"the first process's mounts", func(target) error {
		fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNS)
		}
		return err
	}},
	{"a device", func(target) error { return unix.Mknod("device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1))) }},
	{"a file by its handle", openByHandle},
	{"a file that lends its owner's rights", func(target) error { return lending(func(name string) error { return unix.Chmod(name, 0o4755) }) }},
	{"one that lends its group's", func(target) error { return lending(func(name string) error { return unix.Chmod(name, 0o2755) }) }},
	{"one that is open", func(target) error {
		return lending(func(name string) error {
			fd, err := unix.Open(name, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Fchmod(fd, 0o6755)
		})
	}},
	{"one by the newest call", func(target) error {
		return lending(func(name string) error { return unix.Fchmodat(unix.AT_FDCWD, name, 0o4755, unix.AT_SYMLINK_NOFOLLOW) })
	}},
	{"one that is made so", func(target) error { return lending(madeAs(0o4755)) }},
	{"one that is made so without a name", func(target) error {
		_, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o4755)
		return err
	}},
	{"one that is made as a node", func(target) error { return unix.Mknod("node", unix.S_IFREG|0o4755, 0) }},
	{"one that is made where nobody looks", func(target) error {
		_, err := unix.Openat2(unix.AT_FDCWD, "unseen", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		return err
	}},
	{"a ring", func(target) error { return rawCall(unix.SYS_IO_URING_SETUP, 1, zeroed(128), 0) }},
	{"a program in the kernel", func(target) error { return rawCall(unix.SYS_BPF, 0, zeroed(128), 128) }},
	{"the kernel's counters", func(target) error { return rawCall(unix.SYS_PERF_EVENT_OPEN, zeroed(128), 0, ^uintptr(0)) }},
	{"faults of memory", func(target) error { return rawCall(unix.SYS_USERFAULTFD, 0, 0, 0) }},
	{"a keyring", func(target) error {
		_, err := unix.AddKey("user", "massgen-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}},
	{"shared memory that has a name", func(target) error { return created("/dev/shm/massgen-test") }},
	{"a file beside others' temporary ones", func(target) error { return created("/tmp/massgen-test") }},
	{"a setting of the kernel", func(target) error { return openFor("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
	{"a control group", func(target) error { return openFor("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }},
	{"the machine's memory", func(target) error { return openFor("/dev/mem", unix.O_RDONLY) }},
	{"the terminals", func(target) error { return openFor("/dev/ptmx", unix.O_RDWR) }},
	{"the file outside", func(at target) error { return openFor(at.File, unix.O_WRONLY) }},
	{"the file outside, from another folder", func(at target) error {
		if err := unix.Chdir(at.Outside); err != nil {
			return err
		}
		return openFor(filepath.Base(at.File), unix.O_WRONLY)
	}},
	{"the file outside, under another root", func(at target) error {
		if err := unix.Chroot(at.Outside); err != nil {
			return err
		}
		return openFor(filepath.Base(at.File), unix.O_WRONLY)
	}},
}

// lending changes a file of its own.
func lending(change func(name string) error) error {
	const name = "lending"
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return change(name)
}

// madeAs makes a file anew, with a mode.
func madeAs(mode uint32) func(name string) error {
	return func(name string) error {
		if err := unix.Unlink(name); err != nil {
			return err
		}
		_, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY, mode)
		return err
	}
}

func sendFromPair(kind int, to string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: to}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte("hostile"))
	return err
}

func socket(family, kind int) error {
	_, err := unix.Socket(family, kind, 0)
	return err
}

func openByHandle(at target) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, at.File, 0)
	if err != nil {
		return err
	}
	dir, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(dir, handle, unix.O_WRONLY)
	return err
}

func rawCall(number, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall6(number, a, b, c, ^uintptr(0), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// zeroed is the address of zeroes, which stay where they are.
func zeroed(size int) uintptr { return uintptr(unsafe.Pointer(&make([]byte, size)[0])) }

func created(name string) error {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(unix.Close(fd), unix.Unlink(name))
}

func openFor(name string, how int) error {
	_, err := unix.Open(name, how, 0)
	return err
}

// makeHostileCalls prints the numbers of those that were not refused.
func makeHostileCalls() int {
	runtime.LockOSThread() // some calls are about one thread
	var at target
	if err := json.Unmarshal([]byte(os.Args[2]), &at); err != nil {
		return 1
	}
	got := []int{}
	for i, c := range hostileCalls {
		if err := c.make(at); err == nil {
			got = append(got, i)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		return 1
	}
	return 0
}

// TestHostileCalls makes calls of the system that no program is needed for: free, which
// shows what they can do here, and fenced in, with and without namespaces.
func TestHostileCalls(t *testing.T) {
	t.Parallel()
	free := madeCalls(t, func(p grounds, c process) string { return string(p.run(c).Output) })
	for _, i := range free {
		t.Logf("free: %s", hostileCalls[i].name)
	}
	if t.Logf("%d hostile calls, %d of which can do harm here", len(hostileCalls), len(free)); len(free) < 10 {
		t.Error("these are too few to show anything")
	}
	for name, run := range map[string]func(grounds, process) string{
		"with namespaces": func(p grounds, c process) string {
			c.Fence = p.fence()
			c.Fence.Reads = []string{c.Path}
			return string(p.run(c).Output)
		},
		"without": func(p grounds, c process) string {
			fence := p.fence()
			fence.Reads = []string{c.Path}
			return p.runBare(c, fence)
		},
	} {
		for _, i := range madeCalls(t, run) {
			t.Errorf("%s: nothing refuses it %s", name, hostileCalls[i].name)
		}
	}
}

func madeCalls(t *testing.T, run func(grounds, process) string) []int {
	t.Helper()
	p := newGrounds(t)
	memory, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := unix.SysvShmCtl(memory, unix.IPC_RMID, nil); err != nil {
			t.Error(err)
		}
	})
	at := target{
		Victim: p.victim().Process.Pid, Datagram: filepath.Join(p.hidden, "datagrams"), Memory: memory,
		File: p.canary(), Outside: p.outside,
	}
	service, err := net.ListenPacket("unixgram", at.Datagram)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := run(p, p.command(nil, program, callsArg, string(text)))
	var got []int
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}
