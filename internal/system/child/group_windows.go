package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// OutlivesParent reports whether a child outlives its parent here. A job ends with the last handle to it,
// however the program that holds the handle ends.
const OutlivesParent = false

// Inherited returns nil: parents pass no files on here.
func Inherited(uintptr, string) *os.File { return nil }

func ownGroup(*exec.Cmd) {}

// leash holds the job in which a process and its children run. Children that the process starts before
// it is in the job are not in it.
type leash struct{ job windows.Handle }

func leashTo(p *os.Process) (leash, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return leash{}, fmt.Errorf("create a job: %w", err)
	}
	l := leash{job}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		l.release()
		return leash{}, fmt.Errorf("have a job end with the program: %w", err)
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE|windows.SYNCHRONIZE, false, uint32(p.Pid))
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		if ended, _ := windows.WaitForSingleObject(process, 0); ended == windows.WAIT_OBJECT_0 {
			err = nil // there is nothing to hold
		}
		err = errors.Join(err, windows.CloseHandle(process))
	}
	if err != nil {
		l.release()
		return leash{}, fmt.Errorf("put it into a job: %w", err)
	}
	return l, nil
}

// terminate does nothing: Windows cannot ask a process without a window to end.
func (l leash) terminate() {}

// killedStatus is the exit status of killed processes.
const killedStatus = 125

// kill ignores errors: a job that cannot be ended has no process left.
func (l leash) kill() { _ = windows.TerminateJobObject(l.job, killedStatus) }

// release ignores errors: the handle is open.
func (l leash) release() { _ = windows.CloseHandle(l.job) }
