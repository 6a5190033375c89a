package workspace

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/heavy"
)

const (
	mostListed  = 1000    // entries of one list
	mostFound   = 200     // lines of one search
	mostSearch  = 4 << 20 // bytes of a file that is searched
	longestLine = 500     // bytes of a line that a search shows

	// A pattern needs time for each of its states and each character of a line. A pattern of this
	// length may have 200,000 states, and then needs 2 s for a long line.
	longestPattern = 1000
	shortLine      = 1 << 10
	mostVisited    = 1_000_000 // files and folders that one call looks at
)

type listFilesArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

type entry struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

type listFilesResult struct {
	done
	Entries   []entry `json:"entries"`
	Truncated string  `json:"truncated,omitempty"`
}

func (v *view) listFiles(ctx context.Context, a listFilesArgs) (any, error) {
	p, err := v.find(cmp.Or(a.Path, "."))
	if err != nil {
		return nil, err
	}
	result := listFilesResult{done: done{true, p.name}, Entries: []entry{}}
	err = v.walk(ctx, p, max(a.Depth, 1), func(at place, info fs.FileInfo) error {
		if len(result.Entries) == mostListed {
			result.Truncated = fmt.Sprintf("there are more than %d entries: name a folder", mostListed)
			return fs.SkipAll
		}
		result.Entries = append(result.Entries, v.entryOf(at, info))
		return nil
	})
	return result, err
}

func (v *view) entryOf(p place, info fs.FileInfo) entry {
	e := entry{Path: p.name, Type: "other", ReadOnly: !v.canChange(p.tree)}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Type, e.Size = "file", info.Size()
	case mode.IsDir():
		e.Type = "folder"
	case mode&fs.ModeSymlink != 0:
		e.Type = "link"
	}
	return e
}

// walk visits everything below a folder in the order of names, or p itself if it is a file. In the
// workspace itself it visits answers and mounts first. It follows no links.
func (v *view) walk(ctx context.Context, p place, depth int, visit func(place, fs.FileInfo) error) error {
	visited := 0
	err := v.walkFrom(p, depth, func(at place, info fs.FileInfo) error {
		visited++
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if visited > mostVisited {
			return fmt.Errorf("%s has more than %d files: name a folder", p.name, mostVisited)
		}
		return visit(at, info)
	})
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (v *view) walkFrom(p place, depth int, visit func(place, fs.FileInfo) error) error {
	if p.tree == v.answers {
		return v.walkFolder(p, depth, visit)
	}
	info, err := p.tree.root.Stat(p.rel)
	switch {
	case err != nil:
		return p.failure(err)
	case info.IsDir():
		return v.walkFolder(p, depth, visit)
	}
	return visit(p, info)
}

func (v *view) walkFolder(p place, depth int, visit func(place, fs.FileInfo) error) error {
	list, err := v.listed(p)
	if err != nil {
		return err
	}
	for _, at := range list {
		info, err := v.lstat(at)
		if errors.Is(err, fs.ErrNotExist) && at.tree == p.tree {
			continue // removed meanwhile
		}
		if err != nil {
			return at.failure(err)
		}
		if err := visit(at, info); err != nil {
			return err
		}
		// The workspace's own folder lists mounts and answers without their files.
		if !info.IsDir() || depth == 1 || at.tree != p.tree && p.tree != v.answers {
			continue
		}
		if err := v.walkFolder(at, depth-1, visit); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the places in a folder, and none if the folder was removed meanwhile.
func (v *view) listed(p place) (all []place, err error) {
	if p.tree == v.answers {
		for _, a := range v.shown() {
			at, err := v.find(path.Join(answersName, a.Name))
			if err != nil {
				return nil, err
			}
			all = append(all, at)
		}
		return all, nil
	}
	if p.name == "." {
		if len(v.shown()) > 0 {
			all = append(all, v.locate(answersName))
		}
		for _, m := range v.mounts {
			all = append(all, v.locate(m.name))
		}
	}
	entries, err := fs.ReadDir(filesOf(p.tree.root), p.rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, p.failure(err)
	}
	for _, e := range entries {
		at := place{path.Join(p.name, e.Name()), p.tree, path.Join(p.rel, e.Name())}
		if p.tree.isHidden(at.rel) {
			continue
		}
		if p.name != "." || v.locate(at.name).tree == p.tree { // else a mount hides it
			all = append(all, at)
		}
	}
	return all, nil
}

type searchFilesArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Files   string `json:"files"`
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type searchFilesResult struct {
	done
	Matches []match `json:"matches"`
	// Skipped counts files that are too long or no text.
	Skipped   int    `json:"skipped,omitempty"`
	Truncated string `json:"truncated,omitempty"`
}

func (v *view) searchFiles(ctx context.Context, a searchFilesArgs) (any, error) {
	p, err := v.find(cmp.Or(a.Path, "."))
	if err != nil {
		return nil, err
	}
	if len(a.Pattern) > longestPattern {
		return nil, fmt.Errorf("the pattern has %d bytes: it may have %d", len(a.Pattern), longestPattern)
	}
	pattern, err := heavy.Pattern(a.Pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	if _, err := path.Match(a.Files, ""); err != nil {
		return nil, fmt.Errorf("files is no pattern of names, such as *.go: %w", err)
	}
	result := searchFilesResult{done: done{true, p.name}, Matches: []match{}}
	err = v.walk(ctx, p, maxDepth, func(at place, info fs.FileInfo) error {
		if !info.Mode().IsRegular() || a.Files != "" && !matches([]string{a.Files}, path.Base(at.name)) {
			return nil
		}
		text, err := at.readAll(mostSearch)
		if err != nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			result.Skipped++
			return nil //nolint:nilerr // an unreadable file is only counted
		}
		return result.search(ctx, at.name, text, pattern)
	})
	return result, err
}

// maxDepth is deeper than any path can be.
const maxDepth = longestPath

func (r *searchFilesResult) search(ctx context.Context, name string, text []byte, pattern *regexp.Regexp) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, mostSearch+1)
	for n := 1; lines.Scan(); n++ {
		found := hasMatch(ctx, pattern, lines.Bytes())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !found {
			continue
		}
		if len(r.Matches) == mostFound {
			r.Truncated = fmt.Sprintf("there are more than %d matches: search for less, or in a folder", mostFound)
			return fs.SkipAll
		}
		r.Matches = append(r.Matches, match{name, n, shorten(lines.Text())})
	}
	return lines.Err()
}

// hasMatch matches a line. In a long line it stops when ctx ends, for which it gives up the faster ways
// of matching.
func hasMatch(ctx context.Context, pattern *regexp.Regexp, line []byte) bool {
	if len(line) <= shortLine {
		return pattern.Match(line)
	}
	return pattern.MatchReader(&endingReader{Reader: bytes.NewReader(line), ctx: ctx})
}

// endingReader ends early when its context does.
type endingReader struct {
	*bytes.Reader
	ctx  context.Context
	read int
}

// ReadRune implements io.RuneReader.
func (r *endingReader) ReadRune() (char rune, size int, err error) {
	if r.read++; r.read%64 == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return r.Reader.ReadRune()
}

func shorten(line string) string {
	if len(line) <= longestLine {
		return line
	}
	return strings.ToValidUTF8(line[:longestLine], "") + "…"
}
