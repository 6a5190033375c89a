package confine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownView gives this process, which is in namespaces of its own, a view of the files
// in which all but the writable trees is read-only and /proc shows only its own
// namespace. It returns false where the system gives namespaces but no rights in them.
func ownView(writable []string) (bool, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, nil //nolint:nilerr // it is the way to find out
	}
	// A container that hides parts of its /proc does not let it be mounted again. The
	// old one stays then, with the numbers that processes have outside.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	for _, tree := range writable {
		if err := unix.Mount(tree, tree, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return false, fmt.Errorf("mount %s: %w", tree, err)
		}
	}
	readOnly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, readOnly); err != nil {
		return false, fmt.Errorf("make the files read-only: %w", err)
	}
	again := &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	for _, tree := range writable {
		if err := unix.MountSetattr(unix.AT_FDCWD, tree, 0, again); err != nil {
			return false, fmt.Errorf("make %s writable: %w", tree, err)
		}
	}
	return true, nil
}
