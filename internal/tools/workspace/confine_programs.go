package workspace

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// withLoaders adds to the files of programs the ones that the system starts in their place: the
// loader of a dynamic program, the interpreter of a script. A script whose first line names env
// also needs the program that env looks up; withLoaders does not add that one.
func withLoaders(programs []string) ([]string, error) {
	all := slices.Clone(programs)
	for i := 0; i < len(all); i++ {
		loader, err := loaderOf(all[i])
		if err != nil {
			return nil, fmt.Errorf("look what %s is started with: %w", all[i], err)
		}
		if loader != "" && !slices.Contains(all, loader) {
			all = append(all, loader)
		}
	}
	return all, nil
}

func loaderOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(line)
		if len(words) == 0 {
			return "", nil
		}
		return words[0], nil
	}
	if !strings.HasPrefix(first, elf.ELFMAG) {
		return "", nil
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return "", err
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			return strings.TrimRight(string(name), "\x00"), err
		}
	}
	return "", nil
}

// systemTrees returns the folders and files that every fenced command may read: programs,
// libraries, and the settings that these look up. They hold no secrets of the system and no homes
// of people.
func systemTrees() []string {
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

// isAlwaysReadable reports whether every fenced command may read path, if it is clean and absolute.
func isAlwaysReadable(path string) bool {
	return slices.ContainsFunc(systemTrees(), func(tree string) bool {
		return path == tree || strings.HasPrefix(path, strings.TrimSuffix(tree, "/")+string(filepath.Separator))
	})
}
