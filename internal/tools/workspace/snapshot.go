package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// SnapshotOptions limit a snapshot.
type SnapshotOptions struct {
	// MaxBytes and MaxFiles limit the copy. MaxFiles counts files, folders and links.
	MaxBytes int64
	MaxFiles int
	// Previous is an earlier snapshot of the same workspace, or empty. The new snapshot shares
	// equal files with it by hard links.
	Previous string
	// Without lists folders and files anywhere that are left out if they are in the workspace,
	// whatever links lead there. They need not exist. The folder in which the snapshot is made is
	// left out too.
	Without []string
	// LeaveOut returns why a file or folder of the workspace is left out with its contents, and
	// "" to copy it. Its argument is a path in the form of fs.FS. Nil leaves out nothing.
	LeaveOut func(name string) (why string)
}

// Snapshot is a finished copy of a workspace.
type Snapshot struct {
	Dir string
	// Files counts regular files, Bytes their contents.
	Files int
	Bytes int64
	// LeftOut has a line for each file or folder that was not copied, with the reason. The last
	// line may count further ones.
	LeftOut []string
}

const (
	deepest     = 100      // nested folders
	mostLeftOut = 100      // lines of LeftOut
	piece       = 64 << 20 // bytes that are copied between two checks of the context
)

// TakeSnapshot copies the tree src to dst. dst must not exist, and may be in src only within a folder
// that is left out (Without). On file systems that can, the copies share their blocks with the
// originals until these change (the kernel copies for io.Copy); they are never hard links to the
// originals. dst is always complete: the copy is made beside it and gets its name at the end. A file
// that grows meanwhile is copied up to its former size. A symbolic link is kept if its target is in
// src. Pipes, sockets, devices and unreadable files are left out. An error leaves nothing behind. A
// killed process leaves a folder whose name begins with ".snapshot-".
func TakeSnapshot(ctx context.Context, src, dst string, o SnapshotOptions) (s Snapshot, err error) {
	from, err := os.OpenRoot(src)
	if err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	defer from.Close()
	if _, err := os.Lstat(dst); err == nil {
		return s, fmt.Errorf("take a snapshot: %s is there already", dst)
	}
	if err := apart(from, filepath.Dir(dst), statted(o.Without)); err != nil {
		return s, fmt.Errorf("take a snapshot of %s: %w", src, err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(dst), ".snapshot-*")
	if err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, RemoveSnapshot(unfinished))
		}
	}()
	to, err := os.OpenRoot(unfinished)
	if err != nil {
		return s, fmt.Errorf("take a snapshot: %w", err)
	}
	defer to.Close()
	c := &copying{SnapshotOptions: o, ctx: ctx, from: from, to: to, dir: unfinished, without: statted(slices.Concat(o.Without, []string{unfinished}))}
	if err := c.tree(); err != nil {
		return s, fmt.Errorf("take a snapshot of %s: %w", src, err)
	}
	if err := os.Rename(unfinished, dst); err != nil {
		return s, fmt.Errorf("finish a snapshot: %w", err)
	}
	c.made.Dir = dst
	return c.made, nil
}

// copying is a snapshot that is being made.
type copying struct {
	SnapshotOptions
	ctx      context.Context
	from, to *os.Root
	dir      string // where to is
	without  []fs.FileInfo
	folders  []string
	entries  int
	untold   int // files and folders that are left out without a line
	made     Snapshot
}

func (c *copying) tree() error {
	if err := fs.WalkDir(filesOf(c.from), ".", c.visit); err != nil {
		return err
	}
	if c.untold > 0 {
		c.made.LeftOut = append(c.made.LeftOut, fmt.Sprintf("and %d more", c.untold))
	}
	for i := len(c.folders) - 1; i >= 0; i-- { // a folder after what is in it
		if err := c.to.Chmod(c.folders[i], 0o555); err != nil {
			return err
		}
	}
	return nil
}

func (c *copying) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case err != nil && name != ".":
		c.unread(name, err)
		return nil
	case err != nil:
		return err
	}
	if why := c.why(name, d); why != "" {
		c.leaveOut(name, why)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	return c.take(name, d)
}

// why returns why a file or folder is left out, "" to copy it.
func (c *copying) why(name string, d fs.DirEntry) string {
	if name == "." {
		return ""
	}
	if c.LeaveOut != nil {
		if why := c.LeaveOut(name); why != "" {
			return why
		}
	}
	info, err := d.Info()
	if err != nil {
		return "" // copying it fails too
	}
	if slices.ContainsFunc(c.without, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
		return "it is none of the agent's work"
	}
	return ""
}

// statted returns the folders and files of a list that exist.
func statted(paths []string) (list []fs.FileInfo) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			list = append(list, info)
		}
	}
	return list
}

// take copies one folder, file or link.
func (c *copying) take(name string, d fs.DirEntry) error {
	if strings.Count(name, "/") >= deepest {
		return fmt.Errorf("it is more than %d folders deep: delete what is not needed", deepest)
	}
	if c.entries++; c.entries > c.MaxFiles+1 { // the tree itself is one
		return fmt.Errorf("it has more than %d files: delete what is not needed", c.MaxFiles)
	}
	switch mode := d.Type(); {
	case mode.IsDir():
		c.folders = append(c.folders, name)
		if name == "." {
			return nil
		}
		return c.to.Mkdir(name, 0o755)
	case mode.IsRegular():
		return c.file(name)
	case mode&fs.ModeSymlink != 0:
		return c.link(name)
	}
	c.leaveOut(name, "it is no file")
	return nil
}

// leaveOut adds one line about a name, which may have line ends in it.
func (c *copying) leaveOut(name, reason string) {
	if len(c.made.LeftOut) == mostLeftOut {
		c.untold++
		return
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		name = quoted
	}
	c.made.LeftOut = append(c.made.LeftOut, name+": "+reason)
}

func (c *copying) link(name string) error {
	target, err := c.from.Readlink(name)
	if err != nil {
		c.leaveOut(name, "it changed meanwhile")
		return nil //nolint:nilerr // it is in LeftOut
	}
	// The second look follows the link, which may have another target by now.
	within := filepath.IsLocal(filepath.Join(filepath.Dir(filepath.FromSlash(name)), target)) && !filepath.IsAbs(target)
	if _, err := c.from.Stat(name); err != nil || !within {
		c.leaveOut(name, "the symbolic link leads outside, or nowhere")
		return nil //nolint:nilerr // it is in LeftOut
	}
	return c.to.Symlink(target, name)
}

// unread leaves out a file that cannot be opened: it is unreadable, or no regular file any more. A
// file that was removed meanwhile is not mentioned.
func (c *copying) unread(name string, err error) {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.leaveOut(name, "it cannot be read: "+err.Error())
	}
}

func (c *copying) file(name string) error {
	in, err := c.from.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		c.unread(name, err)
		return nil
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		c.leaveOut(name, "it changed meanwhile")
		return nil
	}
	mode := fs.FileMode(0o444)
	if info.Mode()&0o111 != 0 {
		mode = 0o555
	}
	if info.Size() > c.MaxBytes-c.made.Bytes {
		return fmt.Errorf("it has more than %d bytes: delete what is not needed", c.MaxBytes)
	}
	n := info.Size()
	shared, err := c.share(name, in, info, mode)
	if err == nil && !shared {
		n, err = c.copy(name, in, n, mode)
	}
	if err != nil {
		return err
	}
	c.made.Files++
	c.made.Bytes += n
	return nil
}

// copy copies the first bytes of a file, or fewer if it has shrunk.
func (c *copying) copy(name string, in io.Reader, size int64, mode fs.FileMode) (n int64, err error) {
	out, err := c.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for n < size {
		if err := c.ctx.Err(); err != nil {
			return n, err
		}
		m, err := io.CopyN(out, in, min(piece, size-n))
		n += m
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, out.Chmod(mode)
}

// share links a file to the equal one of the previous snapshot, if there is one.
func (c *copying) share(name string, in *os.File, info fs.FileInfo, mode fs.FileMode) (shared bool, err error) {
	if c.Previous == "" {
		return false, nil
	}
	old := filepath.Join(c.Previous, filepath.FromSlash(name))
	was, err := os.Lstat(old)
	if err != nil || was.Mode() != mode || was.Size() != info.Size() {
		return false, nil //nolint:nilerr // the file is copied
	}
	same, err := equal(old, io.LimitReader(in, info.Size()))
	if _, seek := in.Seek(0, io.SeekStart); err != nil || seek != nil {
		return false, errors.Join(err, seek)
	}
	// A file has a limited number of names; beyond it the file is copied.
	return same && os.Link(old, filepath.Join(c.dir, filepath.FromSlash(name))) == nil, nil
}

func equal(old string, in io.Reader) (bool, error) {
	other, err := os.Open(old)
	if err != nil {
		return false, err
	}
	defer other.Close()
	was, now := sha256.New(), sha256.New()
	_, errWas := io.Copy(was, other)
	_, errNow := io.Copy(now, in)
	return bytes.Equal(was.Sum(nil), now.Sum(nil)), errors.Join(errWas, errNow)
}
