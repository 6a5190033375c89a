package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/massgen/massgen/agents"
)

// Results that were too long for the model are kept in a folder of this name in one
// that has the program's.
const (
	programFolder = ".massgen"
	ResultsFolder = "results"
)

// KeepResult keeps the whole of a tool's result in a new file of the workspace and
// returns its path, as tools name it.
func (w *Workspace) KeepResult(tool, result string) (where string, err error) {
	w.changing.Lock()
	defer w.changing.Unlock()
	v := w.viewOf(agents.CallInfo{})
	for {
		w.kept++
		p, err := v.change(fmt.Sprintf("%s/%s/%s-%03d.txt", programFolder, ResultsFolder, plainName(tool), w.kept))
		if err != nil {
			return "", fmt.Errorf("keep a result: %w", err)
		}
		switch _, err := p.tree.root.Lstat(p.rel); {
		case err == nil:
			continue // of an earlier session
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("keep a result: %w", p.failure(err))
		}
		if _, err := p.replace([]byte(result)); err != nil {
			return "", fmt.Errorf("keep a result: %w", err)
		}
		return p.name, nil
	}
}

// longestTool is how much of a tool's name stands in the name of a file.
const longestTool = 64

// plainName is a tool's name as every system takes it for a file.
func plainName(tool string) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	return name[:min(len(name), longestTool)]
}
