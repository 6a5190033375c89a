package confine

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// WithLoaders adds to programs, given by their files, those that the system starts in
// their place: the loader of a dynamic program, the interpreter of a script. A script
// whose first line names env needs the program that env looks up as well, which is not
// added.
func WithLoaders(programs []string) ([]string, error) {
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
