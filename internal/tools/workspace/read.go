package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/agents"
)

// mostRead is how many bytes of a file one call returns, unless it asks for fewer.
const mostRead = 64 << 10

type readFileArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int    `json:"limit"`
}

type readFileResult struct {
	done
	Size    int64  `json:"size"`
	Offset  int64  `json:"offset,omitempty"`
	Content string `json:"content"`
	// NextOffset is where the rest begins, 0 at the end of the file.
	NextOffset int64 `json:"next_offset,omitempty"`
}

type binaryResult struct {
	done
	Size   int64  `json:"size"`
	Binary bool   `json:"binary"`
	Type   string `json:"type"`
	Note   string `json:"note"`
}

func (v *view) readFile(ctx context.Context, a readFileArgs) (any, error) {
	p, err := v.find(a.Path)
	if err != nil {
		return nil, err
	}
	f, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if a.Offset < 0 || a.Offset > info.Size() {
		return nil, fmt.Errorf("%s has %d bytes: begin within them and not at %d", p.name, info.Size(), a.Offset)
	}
	limit := mostRead
	if a.Limit > 0 {
		limit = min(a.Limit, mostRead)
	}
	part := make([]byte, limit+utf8.UTFMax)
	n, err := f.ReadAt(part, a.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, p.failure(err)
	}
	text, end, ok := wholeRunes(part[:n], min(limit, n))
	if !ok {
		kind := http.DetectContentType(part[:n])
		return binaryResult{done{true, p.name}, info.Size(), true, kind, p.show(ctx, f, info, kind)}, nil
	}
	result := readFileResult{done: done{true, p.name}, Size: info.Size(), Offset: a.Offset, Content: text}
	if next := a.Offset + int64(end); next < info.Size() {
		result.NextOffset = next
	}
	return result, nil
}

// show gives a picture to the model beside the result, and returns a line about it.
func (p place) show(ctx context.Context, f *os.File, info fs.FileInfo, kind string) string {
	const notShown = "the file is no text and is not shown"
	if !strings.HasPrefix(kind, "image/") {
		return notShown
	}
	if info.Size() > mostPicture {
		return fmt.Sprintf("the picture is not shown: the most is %d bytes", mostPicture)
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		return notShown
	}
	if err := agents.ReturnFile(ctx, path.Base(p.name), data); err != nil {
		return "the picture is not shown: " + err.Error()
	}
	return "the picture is shown beside this result"
}

// mostPicture is how many bytes of a picture are read for a model.
const mostPicture = 8 << 20

// wholeRunes returns the text of the first limit bytes of part, and the place after it. It includes a
// character that the limit cuts, and leaves out one that begins before part. It returns false for
// binary data.
func wholeRunes(part []byte, limit int) (text string, end int, ok bool) {
	start := 0
	for start < limit && start < utf8.UTFMax-1 && !utf8.RuneStart(part[start]) {
		start++
	}
	end = limit
	for end < len(part) && end < limit+utf8.UTFMax && !utf8.RuneStart(part[end]) {
		end++
	}
	text = string(part[start:end])
	return text, end, utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// open opens the regular file of a place. It neither waits for the other end of a pipe nor opens a
// device.
func (p place) open() (*os.File, fs.FileInfo, error) {
	if p.tree.root == nil {
		return nil, nil, p.isFolder()
	}
	info, err := p.tree.root.Stat(p.rel)
	if link := p.link(p.rel); err != nil && link != "" {
		return nil, nil, fmt.Errorf("%s leads through a symbolic link, %s, outside or nowhere: name a file inside", p.name, link)
	}
	if err != nil {
		return nil, nil, p.failure(err)
	}
	if info.IsDir() {
		return nil, nil, p.isFolder()
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is %s and cannot be read: name a file", p.name, kind(info.Mode()))
	}
	f, err := p.tree.root.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, p.failure(err)
	}
	// It may be another file by now.
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, fmt.Errorf("%s changed while it was opened: try again", p.name)
	}
	return f, info, nil
}

func (p place) isFolder() error {
	return fmt.Errorf("%s is a folder: list_files shows what is in it", p.name)
}

// readAll reads a file that is no longer than most.
func (p place) readAll(most int64) ([]byte, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(f, most+1))
	if err != nil {
		return nil, p.failure(err)
	}
	if n > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that this tool takes", p.name, info.Size(), most)
	}
	return text.Bytes(), nil
}
