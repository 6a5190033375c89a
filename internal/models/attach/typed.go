package attach

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// typedPath is a word that begins with @: a path, or one in quotes that may have spaces.
var typedPath = regexp.MustCompile(`(^|[\s(])@(?:"([^"\n]+)"|([^\s"]+))`)

// Typed reads the files that a person names in a question as @path or @"a path", and returns the
// question with their names in place of the paths. A word that is no path of a file stays as it is,
// unless it ends like a picture or a PDF: then its error says what is wrong. Only what a person
// types at a terminal may pass through it: a stranger who can put a line into a script's question
// could send any file to a model.
func Typed(question string) (string, []backends.File, error) {
	var files []backends.File
	var paths []string
	var failed error
	named := typedPath.ReplaceAllStringFunc(question, func(word string) string {
		parts := typedPath.FindStringSubmatch(word)
		path, after := parts[2], ""
		if path == "" {
			path, after = cutPunctuation(parts[3])
		}
		if !IsFile(path) && !looksLikeFile(path) || failed != nil {
			return word
		}
		if at := slices.Index(paths, path); at >= 0 {
			return parts[1] + files[at].Name + after
		}
		f, err := Open(atHome(path))
		if err != nil {
			failed = err
			return word
		}
		paths, files = append(paths, path), append(files, f)
		return parts[1] + f.Name + after
	})
	files = Once(files) // two paths may lead to one file
	if failed == nil {
		failed = Check(files)
	}
	return named, files, failed
}

// Missing returns the paths of a question that look like files, with a slash or an extension, and
// are not there. Typed leaves them as text.
func Missing(question string) (paths []string) {
	for _, parts := range typedPath.FindAllStringSubmatch(question, -1) {
		path := parts[2]
		if path == "" {
			path, _ = cutPunctuation(parts[3])
		}
		_, err := os.Stat(atHome(path))
		if errors.Is(err, os.ErrNotExist) && (filepath.Ext(path) != "" || strings.Contains(path, "/")) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// cutPunctuation parts a path from what ends the sentence after it.
func cutPunctuation(word string) (path, after string) {
	path = word
	for path != "" && !IsFile(path) && strings.ContainsAny(path[len(path)-1:], ".,;:!?)'") {
		path = path[:len(path)-1]
	}
	return path, word[len(path):]
}

// IsFile reports whether a path, which may begin with ~/, leads to a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(atHome(path))
	return err == nil && info.Mode().IsRegular()
}

func looksLikeFile(path string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".webp", ".gif", ".pdf"}, strings.ToLower(filepath.Ext(path)))
}

// atHome is a path whose ~/ is the person's folder.
func atHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

var attachedLine = regexp.MustCompile(`\n\n\[Attached: [^\n]*\]$`)

// Cut returns a question without the line of Line, so that it can be asked again.
func Cut(question string) string { return attachedLine.ReplaceAllString(question, "") }
