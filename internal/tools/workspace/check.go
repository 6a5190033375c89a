package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RunCheck runs the command of a check behind the fence, in a copy of the folder from, or in an empty
// folder if from is "". The answer is its standard input. It ends the command after the limit; 0 means
// two minutes. The error is for a command that could not run, or was cancelled.
func RunCheck(ctx context.Context, argv []string, from, answer string, limit time.Duration) (exit int, output string, err error) {
	temp, err := os.MkdirTemp("", "massgen-check-*")
	if err != nil {
		return 0, "", fmt.Errorf("make a folder for the check: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(temp)) }()
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return 0, "", fmt.Errorf("find the folder for the check: %w", err)
	}
	dir, home, input := filepath.Join(temp, "work"), filepath.Join(temp, "home"), filepath.Join(temp, "answer")
	for _, err := range []error{os.Mkdir(home, 0o700), os.WriteFile(input, []byte(answer), 0o600), copyFolder(dir, from)} {
		if err != nil {
			return 0, "", fmt.Errorf("prepare the check: %w", err)
		}
	}
	c := command{path: searchPath(true)}
	file, err := c.resolve(argv)
	if err != nil {
		return 0, "", err
	}
	limit = cmp.Or(limit, defaultTimeout)
	r, err := runProcess(ctx, process{
		Path: file, Argv: argv, Dir: dir, Stdin: input, Fence: &fence{Writes: []string{dir, home}}, Timeout: limit, MaxOutput: defaultMaxOutput,
		Env: []string{
			"PATH=" + strings.Join(c.path, string(filepath.ListSeparator)), "HOME=" + home, "TMPDIR=" + home,
			"LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
		},
	})
	if err != nil {
		return 0, "", err
	}
	output = strings.ToValidUTF8(string(r.Output), "\uFFFD")
	switch {
	case r.TimedOut:
		return noExit, output + fmt.Sprintf("\nit was ended after %s", limit), nil
	case r.Signal != "":
		return r.Exit, output + "\nit was ended by " + r.Signal, nil
	}
	return r.Exit, output, nil
}

// copyFolder makes a copy of a folder in which everything may be changed.
func copyFolder(dir, from string) error {
	if from == "" {
		return os.Mkdir(dir, 0o700)
	}
	return os.CopyFS(dir, os.DirFS(from))
}
