package attach

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/plain"
)

// The media types of attached files.
const (
	Text = "text/plain"
	PDF  = "application/pdf"
	png  = "image/png"
	jpeg = "image/jpeg"
	gif  = "image/gif"
	webp = "image/webp"
)

// The limits of the files of a question. MostBytes is 27 MiB in Base64: Claude takes requests of
// 32 MB. A text goes to each agent in each round, as the question does, and so it has the
// question's limit.
const (
	MostFiles  = 20
	MostBytes  = 20 << 20 // of all files together
	MostText   = 1 << 20
	mostPixels = 100_000_000
	mostName   = 200
)

// New returns a file with its media type and size, which it reads from the data alone: the name may
// lie. It decodes no more of a picture than its size. The error says why the file cannot be
// attached.
func New(name string, data []byte) (backends.File, error) {
	name = cleanName(name)
	f := backends.File{File: blob.File{Name: name}, Data: data}
	fail := func(format string, args ...any) (backends.File, error) {
		return backends.File{}, fmt.Errorf("attach %s: %w", name, fmt.Errorf(format, args...))
	}
	if len(data) == 0 {
		return fail("the file is empty")
	}
	if len(data) > MostBytes {
		return fail("it has %s bytes, and the most is %s", plain.Thousands(len(data)), plain.Thousands(MostBytes))
	}
	f.MediaType = typeOf(data)
	if f.MediaType == "" || f.MediaType == Text {
		text, err := charset.Strict(data)
		switch {
		case err != nil || strings.Contains(text, "\x00"):
			return fail("it is %s: only png, jpeg, webp, gif, pdf and text in UTF-8 or UTF-16 can be attached", kindOf(data, err))
		case text == "":
			return fail("the file is empty")
		case text != string(data): // it was UTF-16, or had a byte order mark
			data = []byte(text)
		}
		f.MediaType, f.Data = Text, data
	}
	switch f.MediaType {
	case PDF:
		f.Pages = pages(data)
	case Text:
		if len(data) > MostText {
			return fail("it is a text of %s bytes, and the most is %s: let the agents read it from their cwd", plain.Thousands(len(data)), plain.Thousands(MostText))
		}
	default:
		var err error
		if f.Width, f.Height, err = size(f.MediaType, data); err != nil {
			return fail("it begins like %s and has no size: %w", f.MediaType, err)
		}
		if f.Width <= 0 || f.Height <= 0 || f.Width > mostPixels/f.Height {
			return fail("it is a picture of %d by %d pixels, and the most is %s pixels", f.Width, f.Height, plain.Thousands(mostPixels))
		}
	}
	return f, nil
}

// typeOf returns the media type of a file, by its first bytes, "" for what is no picture, PDF or plain
// text.
func typeOf(data []byte) string {
	switch kind := http.DetectContentType(data); {
	case slices.Contains([]string{png, jpeg, gif, webp}, kind):
		return kind
	case kind == PDF:
		return PDF
	}
	if IsText(data) {
		return Text
	}
	return ""
}

// IsText reports whether data is a text in UTF-8, which has no zero bytes.
func IsText(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsRune(data, 0) }

// kindOf names what cannot be attached, by the error of reading it as a text.
func kindOf(data []byte, err error) string {
	var of *charset.Error
	if errors.As(err, &of) && of.Encoding != "" {
		return "a text that is not in UTF-8 and looks like " + of.Encoding
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == Text {
		return "a text with zero bytes"
	}
	return kind
}

// cleanName is the last part of a file's name, without what would spoil a line of text.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) || strings.ContainsRune(`[]<>"`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if name = strings.TrimSpace(plain.CutBytes(name, mostName)); name == "" {
		return "file"
	}
	return name
}

// Open reads a file. It neither waits for a pipe nor reads more than may be attached.
func Open(path string) (backends.File, error) {
	fail := func(err error) (backends.File, error) {
		return backends.File{}, fmt.Errorf("attach %s: %w", plain.Line(path), err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		var of *os.PathError
		if errors.As(err, &of) {
			err = of.Err
		}
		return fail(err)
	case info.IsDir():
		return fail(errors.New("it is a folder: name a file, or let the agents read the folder with context_paths"))
	case !info.Mode().IsRegular():
		return fail(errors.New("it is no regular file"))
	case info.Size() > MostBytes:
		return fail(fmt.Errorf("it has %s bytes, and the most is %s", plain.Thousands(int(info.Size())), plain.Thousands(MostBytes)))
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, MostBytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	return New(filepath.Base(path), data)
}

// Check returns an error if the files are too many, or too large together.
func Check(files []backends.File) error {
	if len(files) > MostFiles {
		return fmt.Errorf("%d files are attached, and the most is %d", len(files), MostFiles)
	}
	sum := 0
	for _, f := range files {
		sum += len(f.Data)
	}
	if sum > MostBytes {
		return fmt.Errorf("the attached files have %s bytes together, and the most is %s: every agent is sent them in every round",
			plain.Thousands(sum), plain.Thousands(MostBytes))
	}
	return nil
}

// IsPicture reports whether a media type is a picture's.
func IsPicture(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// Line returns the text that names the files at the end of their question, "" for no files. The
// history of later turns has the question with this text, without the files.
func Line(files []blob.File) string {
	if len(files) == 0 {
		return ""
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = fmt.Sprintf("%s (%s, %s bytes, sha256 %.12s)", f.Name, f.MediaType, plain.Thousands(f.Content.Bytes), f.Content.SHA256)
	}
	return "\n\n[Attached: " + strings.Join(names, "; ") + "]"
}
