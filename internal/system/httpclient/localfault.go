package httpclient

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// IsLocalFault reports whether a request failed because this machine or process had no resources for it,
// such as a file descriptor or a port. Such a failure says nothing about the service.
func IsLocalFault(err error) bool {
	for _, fault := range localFaults {
		if errors.Is(err, fault) {
			return true
		}
	}
	var number syscall.Errno
	if runtime.GOOS == "windows" && errors.As(err, &number) && slices.Contains(windowsFaults, number) {
		return true
	}
	// The resolver of package net keeps only the text of its error.
	var host *net.DNSError
	return errors.As(err, &host) && slices.ContainsFunc(localFaults, func(fault syscall.Errno) bool {
		return strings.HasSuffix(host.Err, ": "+fault.Error())
	})
}

var localFaults = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}

// windowsFaults are WSAEMFILE, WSAEADDRNOTAVAIL and WSAENOBUFS, which package syscall lacks.
var windowsFaults = []syscall.Errno{10024, 10049, 10055}
