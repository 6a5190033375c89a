package debugbackend

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/internal/system/plain"
)

// CheckDir makes the folder if it is not there and proves that files can be
// written to it. Its error is one line for the user, to be shown before any
// model is called.
func CheckDir(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = probe(dir)
	}
	if err != nil {
		return fmt.Errorf("the folder for inputs %q cannot be written to: %w; name another one", dir, withoutPath(err))
	}
	return nil
}

// HoldsCalls reports whether the folder has calls of an earlier run. It returns false for an unreadable
// folder.
func HoldsCalls(dir string) bool {
	calls, err := fs.Glob(os.DirFS(dir), "turn-*/*/call-*.json")
	return err == nil && len(calls) > 0
}

func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// withoutPath removes the path from a file error whose line already names it.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Err returns the first error of writing a call to the folder, with the number of further ones, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > 1 {
		return fmt.Errorf("%w (and %d more)", r.err, r.failed-1)
	}
	return r.err
}

// callFolder returns the folder of an agent's calls in a turn, below the dump's folder. A call of no
// agent is in the folder of its purpose, whose mark no agent's folder has.
func callFolder(key backends.Key) string {
	name := safeName(key.Agent)
	if key.Agent == "" {
		name = "+" + safeName(key.Purpose)
	}
	return filepath.Join(fmt.Sprintf("turn-%03d", key.Turn), name)
}

// callNumber returns the number in the name of a call's file with an ending, or 0 for any other file and
// for a number that no run can reach.
func callNumber(name, ending string) int {
	const most = 1_000_000_000
	digits, isCall := strings.CutPrefix(name, "call-")
	digits, isEnding := strings.CutSuffix(digits, ending)
	n, err := strconv.Atoi(digits)
	if !isCall || !isEnding || err != nil || n > most {
		return 0
	}
	return n
}

// callName is the name of a call's files without their endings.
func callName(number int) string { return fmt.Sprintf("call-%03d", number) }

// The endings of a call's files.
const (
	textEnding = ".txt"
	jsonEnding = ".json"
)

// safeName returns the name of an id's folder: the id if every system accepts it, or else its safe
// characters and a hash, so that no two ids share a name.
func safeName(id string) string {
	const most = 48
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, id)
	safe = safe[:min(len(safe), most)]
	if safe == id && !reservedName(id) {
		return id
	}
	hash := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%s-%x", safe, hash[:4])
}

// reservedName reports whether Windows keeps the name for a device, or it is empty.
func reservedName(name string) bool {
	name = strings.ToLower(name)
	port := strings.TrimRight(name, "0123456789")
	return slices.Contains([]string{"", "con", "prn", "aux", "nul"}, name) || port == "com" || port == "lpt"
}

// nextNumber returns the number of a new call. It continues the numbers of other runs in the folder,
// which may still be running, so that nothing is overwritten. Names that differ only in case count as
// one, since some file systems ignore case.
func (r *Recorder) nextNumber(key backends.Key) int {
	folder := callFolder(key)
	id := strings.ToLower(folder)
	if _, known := r.numbers[id]; !known && r.options.Dir != "" {
		r.numbers[id] = lastNumber(filepath.Join(r.options.Dir, folder))
	}
	r.numbers[id]++
	for r.options.Dir != "" && isTaken(filepath.Join(r.options.Dir, folder), r.numbers[id]) {
		r.numbers[id]++
	}
	return r.numbers[id]
}

// isTaken reports whether the number belongs to another run's call. If not, it claims the number with an
// empty file, which the call's text replaces later. It ignores other errors: writing the call will
// report them.
func isTaken(folder string, number int) bool {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false
	}
	f, err := os.OpenFile(filepath.Join(folder, callName(number)+textEnding), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	return errors.Is(err, fs.ErrExist)
}

// lastNumber returns the highest number of a call in the folder, 0 if there is none. It ignores errors:
// writing the call will report them.
func lastNumber(folder string) int {
	last := 0
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		last = max(last, callNumber(e.Name(), jsonEnding), callNumber(e.Name(), textEnding))
	}
	return last
}

// writeCall writes the call as text and then as JSON: a call that LoadDir finds also has its text.
func writeCall(o Options, c Call) error {
	folder := filepath.Join(o.Dir, callFolder(c.Request.Key))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	c = o.redacted(c)
	name := filepath.Join(folder, callName(c.Number))
	if err := o.writeText(name+textEnding, c); err != nil {
		return err
	}
	data, err := plain.JSON(c.file()) // a Call would be encoded twice, as MarshalJSON's result is
	if err != nil {
		return err
	}
	return filelock.WriteWhole(name+jsonEnding, o.scrub(append(data, '\n')))
}

// writeText writes the call as text. The text leaves the memory before the call becomes JSON.
func (o Options) writeText(name string, c Call) error {
	var text bytes.Buffer
	if err := Print(&text, []Call{c}); err != nil {
		return err
	}
	return filelock.WriteWhole(name, o.scrub(text.Bytes()))
}

// LoadDir reads all calls that a Recorder wrote below the folder, sorted as by
// Recorder.Calls. It skips files with other names. A damaged call is an error that names its file. A
// folder without calls is an error too.
func LoadDir(dir string) ([]Call, error) {
	var calls []Call
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return fmt.Errorf("read inputs: %s: %w; massgen --dump-inputs %s writes one", dir, withoutPath(err), dir)
		}
		if err != nil {
			return fmt.Errorf("read inputs: %s: %w", path, withoutPath(err))
		}
		if entry.IsDir() || callNumber(entry.Name(), jsonEnding) == 0 {
			return nil
		}
		c, err := LoadFile(path)
		calls = append(calls, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("read inputs: there are none in %s; massgen --dump-inputs %s writes them", dir, dir)
	}
	sortCalls(calls)
	return calls, nil
}

// mostOfCall is the size of the largest file that is read as a call, in bytes.
const mostOfCall = 1 << 30

// readCall reads a regular file. A device may have no end, and a pipe may never begin.
func readCall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file: take it away", path)
	case info.Size() > mostOfCall:
		return nil, fmt.Errorf("%s has %d bytes, and an input has at most %d: take it away", path, info.Size(), mostOfCall)
	}
	return os.ReadFile(path)
}

// LoadFile reads one call, such as DIR/turn-001/AGENT/call-001.json.
func LoadFile(path string) (Call, error) {
	data, err := readCall(path)
	if err != nil {
		return Call{}, fmt.Errorf("read an input: %w", err)
	}
	var c Call
	if err := json.Unmarshal(data, &c); err != nil {
		return Call{}, fmt.Errorf("read an input: %s is damaged or not an input of massgen: %w", path, err)
	}
	return c, nil
}
