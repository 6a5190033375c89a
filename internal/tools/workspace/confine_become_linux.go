package workspace

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// mostProcesses is how many processes and threads a command may have.
const mostProcesses = 4096

// become reads a command and turns this process into it.
func become() {
	runtime.LockOSThread() // some of the following calls affect one thread
	err := becomeCommand(os.NewFile(commandFD, "command"))
	// It returns only if it failed.
	said := report{Exit: 127, Error: err.Error()}
	if err := json.NewEncoder(os.NewFile(statusFD, "status")).Encode(said); err != nil {
		os.Exit(1) // nobody is there to be told
	}
	os.Exit(127)
}

func becomeCommand(in *os.File) error {
	var c launched
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	// The command inherits no files, not even those that this program was started with.
	if err := unix.CloseRange(commandFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep files from the command: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	if c.OwnUsers {
		// Without its own namespace the limit would count all processes of the user.
		var limit unix.Rlimit
		err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
		if err == nil {
			limit.Max = min(limit.Max, mostProcesses) // only root may raise it
			limit.Cur = limit.Max
			err = unix.Setrlimit(unix.RLIMIT_NPROC, &limit)
		}
		if err != nil {
			return fmt.Errorf("limit the number of processes: %w", err)
		}
	}
	if c.Stdin != "" {
		in, err := os.Open(c.Stdin)
		if err == nil {
			err = unix.Dup3(int(in.Fd()), 0, 0)
		}
		if err != nil {
			return fmt.Errorf("open the command's standard input: %w", err)
		}
	}
	if err := os.Chdir(c.Dir); err != nil {
		return fmt.Errorf("go to the command's folder: %w", err)
	}
	if c.Fence != nil {
		if err := c.Fence.putUp(c.OwnSpaces); err != nil {
			return err
		}
	}
	if err := syscall.Exec(c.Path, c.Argv, c.Env); err != nil {
		return fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	return nil
}

// putUp fences this thread in. The filter guards more if the process has no namespaces with its own
// view of the files (ownView).
func (f *fence) putUp(ownSpaces bool) error {
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"refuse dumps of memory", refuseDumps},
		{"drop capabilities", dropCapabilities},
		{"put Landlock to use", f.landlock},
		{"put the filter of system calls to use", func() error { return setFilter(ownSpaces, f.Network) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// refuseDumps keeps dumps of a crash from files and from the system's own program for dumps. A limit
// of 0 stops only files, a limit of 1 both (the kernel's vfs_coredump).
func refuseDumps() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	limit.Max = min(limit.Max, 1) // it can only be lowered
	limit.Cur = limit.Max
	return unix.Setrlimit(unix.RLIMIT_CORE, &limit)
}

func dropCapabilities() error {
	if os.Geteuid() == 0 {
		// Programs that root starts get the capabilities of this set.
		for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
			err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
			if err == unix.EPERM {
				break // a root without capabilities: with no_new_privs it gets none by a program either
			}
			if err != nil && err != unix.EINVAL {
				return err // EINVAL: an older kernel has fewer
			}
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData // version 3 has 64 bits, in two parts
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}
