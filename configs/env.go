package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/joho/godotenv"

	"github.com/massgen/massgen/internal/secrets"
)

// byteOrderMark is what some editors put at the beginning of a file.
const byteOrderMark = "\ufeff"

// WithDotEnv returns a lookup of variables that asks process first and then the keys in the
// file .env in dir, which need not exist. A variable that process has set, even to nothing,
// wins. Whoever wrote the current folder shall not decide where keys and questions go: so a
// key is what is called one, and others are the names in the file of all else, in order. The
// environment of the process is not changed. Errors do not quote the file, which holds keys.
func WithDotEnv(dir string, process func(string) (string, bool)) (lookup func(string) (string, bool), others []string, err error) {
	path := filepath.Join(dir, ".env")
	data, err := readAtMost(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return process, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the .env file: %w", err)
	}
	vars, err := godotenv.UnmarshalBytes(bytes.TrimPrefix(data, []byte(byteOrderMark)))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: not every line is NAME=value; put values with spaces or # in quotes", oneLine(path))
	}
	for name := range vars {
		if !secrets.IsName(name) {
			others = append(others, name)
			delete(vars, name)
		}
	}
	slices.Sort(others)
	return func(name string) (string, bool) {
		if value, set := process(name); set {
			return value, true
		}
		value, set := vars[name]
		return value, set
	}, others, nil
}
