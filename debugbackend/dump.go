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

// HoldsCalls says whether the folder has calls from an earlier run. A folder that
// cannot be read has none.
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

// withoutPath leaves out the path of a file error whose line names it already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Err returns nil, or the first error of writing a call to the folder, with how
// many more there were.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed > 1 {
		return fmt.Errorf("%w (and %d more)", r.err, r.failed-1)
	}
	return r.err
}

// callFolder is where the calls of an agent's turn are, below the dump's folder. Those
// that belong to no agent are by their purpose, behind a mark that no agent has.
func callFolder(key backends.Key) string {
	name := safeName(key.Agent)
	if key.Agent == "" {
		name = "+" + safeName(key.Purpose)
	}
	return filepath.Join(fmt.Sprintf("turn-%03d", key.Turn), name)
}

// callNumber reads the number from the name of a file with an ending; 0 if it is
// not a call's. A number that no run can come to is none.
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

// safeName is the id as the name of a file: itself if that is safe everywhere,
// else what is safe of it and a hash of the whole, so that no two ids meet.
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

// reservedName says whether Windows keeps the name for a device, or it is empty.
func reservedName(name string) bool {
	name = strings.ToLower(name)
	port := strings.TrimRight(name, "0123456789")
	return slices.Contains([]string{"", "con", "prn", "aux", "nul"}, name) || port == "com" || port == "lpt"
}

// nextNumber gives the number of a call. In a folder that has calls from other
// runs, of which some may still be under way, it goes on from them: nothing is
// overwritten. Names that differ only in case count as one, for the file systems
// that see them so.
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

// isTaken says that the number belongs to another run's call. If it does not, it
// is claimed with an empty text, which the call's own replaces in the end. That
// nothing can be claimed is found out when the call is written.
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

// lastNumber is the highest number of a call in the folder, 0 if there is none.
// That a folder cannot be read is found out when the call is written.
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

// writeCall writes the call as text and, last, as JSON: where there is the one
// that LoadDir reads, there is the other.
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

// writeText writes the call as text. A large one is gone from memory before it is made JSON.
func (o Options) writeText(name string, c Call) error {
	var text bytes.Buffer
	if err := Print(&text, []Call{c}); err != nil {
		return err
	}
	return filelock.WriteWhole(name, o.scrub(text.Bytes()))
}

// LoadDir reads all calls that a Recorder wrote below the folder, sorted as by
// Recorder.Calls. Files with other names are passed over; a call that cannot be
// read is an error that names its file, and so is a folder without any.
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

// mostOfCall is how many bytes a recorded call has at most.
const mostOfCall = 1 << 30

// readCall reads a file that is none of a device, which may have no end, and none of a pipe,
// which may have no beginning.
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
