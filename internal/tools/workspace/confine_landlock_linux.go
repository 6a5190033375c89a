package workspace

import (
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// leastABI is the first version of Landlock that guards truncation (3), devices (5)
// and signals (6).
const leastABI = 6

// CanFence reports whether commands can be fenced in here, and if not, why.
func CanFence() (ok bool, reason string) {
	if !filterable {
		return false, "the filter of system calls is not written for " + runtime.GOARCH
	}
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return false, "the kernel has no Landlock, or it is turned off: " + err.Error()
	}
	if abi < leastABI {
		return false, fmt.Sprintf("the kernel's Landlock has ABI %d; %d is needed, which Linux 6.12 has", abi, leastABI)
	}
	return true, ""
}

const (
	accessReadFile  = landlock.AccessFSSet(ll.AccessFSReadFile)
	accessList      = landlock.AccessFSSet(ll.AccessFSReadDir)
	accessReadTree  = accessReadFile | accessList
	accessExecute   = landlock.AccessFSSet(ll.AccessFSExecute)
	accessWriteFile = landlock.AccessFSSet(ll.AccessFSWriteFile | ll.AccessFSTruncate)
	// accessChangeTree leaves out what makes devices.
	accessChangeTree = accessWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
)

func (f *fence) landlock() error {
	config := landlock.V6
	config.HandledAccessNet = 0 // the filter of system calls knows UDP as well
	return config.Restrict(f.rules()...)
}

func (f *fence) rules() []landlock.Rule {
	run := accessExecute
	if f.Programs != nil {
		run = 0
	}
	var rules []landlock.Rule
	for _, path := range slices.Concat(systemTrees(), f.Reads) {
		rules = append(rules, accessTo(path, accessReadTree|run))
	}
	for _, path := range f.Lists {
		rules = append(rules, accessTo(path, accessList))
	}
	for _, tree := range f.Writes {
		rules = append(rules, accessTo(tree, accessReadTree|accessChangeTree|run))
	}
	for _, program := range f.Programs {
		rules = append(rules, accessTo(program, accessReadFile|accessExecute))
	}
	rules = append(rules, accessTo(os.DevNull, accessReadFile|accessWriteFile))
	return rules
}

// accessTo grants rights to a tree. A file gets those of the rights that files can have, and a path
// without a file gets no rights.
func accessTo(path string, rights landlock.AccessFSSet) landlock.Rule {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		rights &= accessReadFile | accessWriteFile | accessExecute
	}
	return landlock.PathAccess(rights, path).IgnoreIfMissing()
}
