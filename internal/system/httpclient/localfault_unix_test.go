//go:build unix

package httpclient

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
)

func TestIsLocalFault(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://host", Err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", err)}}
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{dial(syscall.EMFILE), true},
		{dial(syscall.ENFILE), true},
		{dial(syscall.ENOBUFS), true},
		{dial(syscall.EADDRNOTAVAIL), true},
		{fmt.Errorf("post: %w", dial(syscall.EMFILE)), true},
		{&net.DNSError{Err: "dial udp 127.0.0.53:53: socket: too many open files", Name: "host"}, true},
		{&net.DNSError{Err: "no such host", Name: "host", IsNotFound: true}, false},
		{dial(syscall.ECONNREFUSED), false},
		{dial(syscall.ENETUNREACH), false},
		{dial(syscall.ETIMEDOUT), false},
	} {
		if got := IsLocalFault(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
