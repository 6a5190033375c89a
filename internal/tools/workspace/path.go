package workspace

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest names that file systems accept, and the longest paths with room for the workspace's own
// path, in bytes.
const (
	longestName = 255
	longestPath = 3000
)

// parsePath checks a path that a model wrote and returns it clean: relative, with slashes, "." for the
// workspace itself. It refuses paths that some system reads in another way, so that a path means the
// same on all systems.
func parsePath(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New(`the path is empty: give one relative to the workspace, "." for all of it`)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, hidden):
		return "", fmt.Errorf("the path %q has characters that cannot be seen: leave them out", name)
	case len(name) > longestPath:
		return "", fmt.Errorf("the path has %d bytes: at most %d are possible", len(name), longestPath)
	case strings.Contains(name, `\`):
		return "", fmt.Errorf("the path %q has a backslash: part folders with /", name)
	case path.IsAbs(name) || name == "~" || strings.HasPrefix(name, "~/"):
		return "", fmt.Errorf("the path %q is not relative: give one relative to the workspace", name)
	}
	for element := range strings.SplitSeq(name, "/") {
		if err := checkName(element); err != nil {
			return "", fmt.Errorf("the path %q %w", name, err)
		}
	}
	clean := path.Clean(name)
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("the path %q has a name that this system keeps for devices: take another name", name)
	}
	return clean, nil
}

func checkName(name string) error {
	switch {
	case name == "..":
		return errors.New(`has "..": give one relative to the workspace, which nothing leads out of`)
	case name == "." || name == "":
		return nil
	case len(name) > longestName:
		return fmt.Errorf("has a name of %d bytes: at most %d are possible", len(name), longestName)
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		return errors.New("has a name that ends with a dot or a blank, which not every system keeps: take another name")
	case strings.Contains(name, ":"):
		return errors.New("has a colon, which not every system takes as part of a name: take another name")
	}
	return nil
}

// hidden reports whether a character is invisible or changes how others look: a person who approves a
// call must see its paths.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c'
}
