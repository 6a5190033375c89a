package workspace

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/system/plain"
)

// Results that are too long for the model are kept in programFolder/ResultsFolder.
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
	name := plain.Name(tool)
	name = name[:min(len(name), longestTool)]
	for {
		w.kept++
		p, err := v.change(fmt.Sprintf("%s/%s/%s-%03d.txt", programFolder, ResultsFolder, name, w.kept))
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

// longestTool is how many bytes of a tool's name the name of a file has.
const longestTool = 64
