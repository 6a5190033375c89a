//go:build !linux && !darwin

package sqlite

// sizeLimit knows of none here.
func sizeLimit() (bytes uint64, ok bool) { return 0, false }
