package confine

import (
	"path/filepath"
	"slices"
	"strings"
)

// SystemTrees are the folders and files that every fenced command may read: programs,
// libraries, and what of the system's settings they look up. Secrets of the system and
// the homes of people are not among them.
func SystemTrees() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies",
		"/etc/debian_version", "/etc/fonts", "/etc/gitconfig", "/etc/group", "/etc/host.conf", "/etc/hosts",
		"/etc/inputrc", "/etc/java", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias",
		"/etc/localtime", "/etc/machine-id", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release",
		"/etc/passwd", "/etc/perl", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/protocols", "/etc/python3",
		"/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/static", "/etc/terminfo",
		"/etc/timezone",
		"/dev/full", "/dev/random", "/dev/urandom", "/dev/zero",
		"/proc", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm",
	}
}

// Readable says that every fenced command may read path, if it is clean and absolute.
func Readable(path string) bool {
	return slices.ContainsFunc(SystemTrees(), func(tree string) bool {
		return path == tree || strings.HasPrefix(path, strings.TrimSuffix(tree, "/")+string(filepath.Separator))
	})
}
