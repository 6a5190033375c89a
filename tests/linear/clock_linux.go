package linear

import (
	"syscall"
	"time"
)

// ofThread is RUSAGE_THREAD of getrusage(2), which package syscall does not name.
const ofThread = 1

// threadTime is for how long the calling thread has run.
func threadTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(ofThread, &used); err != nil {
		panic(err) // every Linux knows it
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
