package talk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
)

// inbox is a folder of messages for a running turn, as MassGen's steering writes them: msg_*.json.
type inbox struct {
	dir  string // absolute
	root *os.Root
	// stuck are the names that cannot be removed, of which the user knows.
	stuck map[string]bool
}

// openInbox opens the folder, and makes it. It refuses a folder of another user, who would add to questions.
func openInbox(dir string) (*inbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--inbox-dir: %w", err)
	}
	if another, err := store.IsAnothers(dir); err != nil || another {
		return nil, errors.Join(err, fmt.Errorf("--inbox-dir: %s belongs to another user: name a folder of your own", plain.Line(dir)))
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("--inbox-dir: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("--inbox-dir: %w", err)
	}
	return &inbox{dir: path, root: root, stuck: map[string]bool{}}, nil
}

// mostMessage is how many bytes of a message are read.
const mostMessage = 64 << 10

// take returns the messages in the order of their names, and removes them. It warns of one that is no message.
func (b *inbox) take(warn func(string)) (texts []string) {
	if b == nil {
		return nil
	}
	names, err := fs.Glob(b.root.FS(), "msg_*.json")
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := b.read(name)
		if removed := b.root.Remove(name); removed != nil {
			if !b.stuck[name] {
				warn(fmt.Sprintf("--inbox-dir: %s is not taken, because it cannot be removed: %v", name, removed))
			}
			b.stuck[name] = true
			continue
		}
		if err != nil {
			warn(fmt.Sprintf("--inbox-dir: %s is no message: %v", name, err))
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// read returns the text of a message. One for some agents names them: a note goes to all.
func (b *inbox) read(name string) (text string, err error) {
	if info, err := b.root.Lstat(name); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() { // nobody might ever write into a pipe
		return "", errors.New("it is no regular file")
	}
	f, err := b.root.Open(name)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, mostMessage+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if len(data) > mostMessage {
		return "", fmt.Errorf("it has more than %d bytes", mostMessage)
	}
	var m struct {
		Content string   `json:"content"`
		Agents  []string `json:"target_agents"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "", err
	}
	if strings.TrimSpace(m.Content) == "" {
		return "", errors.New("it has no content")
	}
	if len(m.Agents) > 0 {
		return "For " + plain.List(m.Agents) + ": " + m.Content, nil
	}
	return m.Content, nil
}
