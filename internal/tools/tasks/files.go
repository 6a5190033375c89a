package tasks

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// mostFile is how many bytes of a file are read.
const mostFile = 4 << 20

// readFile reads a file in an agent's folder, nil for none. No link leads out of the folder.
func readFile(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case !info.Mode().IsRegular() || info.Size() > mostFile:
		return nil, fmt.Errorf("read %s: it is no file of at most 4 MiB", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// writeFile replaces a file in an agent's folder.
func writeFile(folder, name string, data []byte) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	temp := name + ".tmp"
	err = root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = root.WriteFile(temp, data, 0o644)
	}
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// removeFile removes a file in an agent's folder, and reports whether there was one.
func removeFile(folder, name string) (bool, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false, fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	err = root.Remove(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("remove %s: %w", name, err)
	}
	return true, nil
}

// listFiles returns the names of the regular files in a folder of an agent's folder, in order.
func listFiles(folder, dir string) (names []string, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
