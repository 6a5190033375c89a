package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/joho/godotenv"
)

// byteOrderMark is what some editors put at the beginning of a file.
const byteOrderMark = "\ufeff"

// WithDotEnv returns a lookup of variables that asks process first and then the
// file .env in dir, which need not exist. A variable that process has set, even
// to nothing, wins. The environment of the process is not changed. Errors do
// not quote the file, which holds keys.
func WithDotEnv(dir string, process func(string) (string, bool)) (func(string) (string, bool), error) {
	path := filepath.Join(dir, ".env")
	data, err := readAtMost(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return process, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the .env file: %w", err)
	}
	vars, err := godotenv.UnmarshalBytes(bytes.TrimPrefix(data, []byte(byteOrderMark)))
	if err != nil {
		return nil, fmt.Errorf("%s: not every line is NAME=value; put values with spaces or # in quotes", oneLine(path))
	}
	return func(name string) (string, bool) {
		if value, set := process(name); set {
			return value, true
		}
		value, set := vars[name]
		return value, set
	}, nil
}
