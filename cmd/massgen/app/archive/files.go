package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/system/plain"
)

// StandardStream, in place of a file, is standard input or output.
const StandardStream = "-"

// PutFile writes a text to a new file, or to standard output.
func PutFile(env *cmdline.Env, c *cmdline.Console, file, text string) error {
	if file != StandardStream {
		return writeNew(file, text)
	}
	if cmdline.IsTerminal(env.Stdout) { // JSON and Markdown read the same with escapes for what would move the cursor; pages have none
		text = plain.Escape(text, "\n\t")
	}
	return c.Put(text)
}

// writeNew creates a file that only the user can read.
func writeNew(file, text string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or remove it", file)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file)) // half a session is useless
		}
	}()
	_, err = io.WriteString(f, text)
	return err
}
