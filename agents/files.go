package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// asParts returns files as parts of a message, without their contents.
func asParts(files []blob.File) (parts []backends.File) {
	for _, f := range files {
		parts = append(parts, backends.File{File: f})
	}
	return parts
}

// withParts returns a message with files before its other parts. The files are the same in every
// round, so they stand first and providers' prompt caches hit.
func withParts(m backends.Message, files []backends.File) backends.Message {
	if len(files) == 0 {
		return m
	}
	parts := make([]backends.Part, 0, len(files)+len(m.Parts))
	for _, f := range files {
		parts = append(parts, f)
	}
	m.Parts = append(parts, m.Parts...)
	return m
}

// withFiles puts the files of the question into the question's message, which is the user's last.
func (b *inputBuilder) withFiles(messages []backends.Message) []backends.Message {
	files := b.turn.FilesOf(b.reader)
	last := len(messages) - 1
	if len(files) == 0 || last < 0 || messages[last].Role != backends.RoleUser {
		return messages
	}
	messages = slices.Clone(messages)
	messages[last] = withParts(messages[last], asParts(files))
	return messages
}

// withText returns a message with one text at its end in place of its texts.
func withText(m backends.Message, text string) backends.Message {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p backends.Part) bool {
		_, isText := p.(backends.Text)
		return isText
	})
	m.Parts = append(m.Parts, backends.Text{Text: text})
	return m
}

// loaded returns messages with the contents of their files, for a backend: pictures and PDFs
// unchanged, and texts within marks that they cannot forge. Journals have only the references.
func (b *inputBuilder) loaded(messages []backends.Message) ([]backends.Message, error) {
	var out []backends.Message
	for i, m := range messages {
		if !slices.ContainsFunc(m.Parts, hasFile) {
			continue
		}
		if out == nil {
			out = slices.Clone(messages)
		}
		out[i].Parts = slices.Clone(m.Parts)
		for j, p := range m.Parts {
			out[i].Parts[j] = b.loadedPart(p)
		}
	}
	if b.err != nil {
		return nil, fmt.Errorf("read the attached files: %w", b.err)
	}
	if out == nil {
		return messages, nil
	}
	return out, nil
}

func hasFile(p backends.Part) bool {
	switch p := p.(type) {
	case backends.File:
		return true
	case backends.ToolResult:
		return len(p.Files) > 0
	}
	return false
}

func (b *inputBuilder) loadedPart(p backends.Part) backends.Part {
	switch p := p.(type) {
	case backends.File:
		p.Data = b.get(p.Content)
		if p.MediaType == attach.Text {
			return backends.Text{Text: contextbuild.AttachedText(p.Name, string(p.Data))}
		}
		return p
	case backends.ToolResult:
		p.Files = slices.Clone(p.Files)
		for i := range p.Files {
			p.Files[i].Data = b.get(p.Files[i].Content)
		}
		return p
	}
	return p
}

// AttachFiles stores files for a model, and returns their references. A picture that is too large
// for the model is made smaller. refused has the names of the files that the model does not take.
// The store masks secrets, which would break a picture or a PDF: such a file is an error. So are pictures
// that are too much work together.
func AttachFiles(ctx context.Context, blobs Blobs, takes attach.Takes, files []backends.File) (fitting []blob.File, refused []string, err error) {
	left := attach.MostDecodedTogether
	for _, f := range files {
		if !takes.Has(f.MediaType) {
			refused = append(refused, f.Name)
			continue
		}
		stored, err := putFitting(ctx, ctx, blobs, takes, f, &left)
		if err != nil {
			return nil, nil, err
		}
		fitting = append(fitting, stored)
	}
	return fitting, refused, nil
}

// putFitting stores a file for a model that takes its kind. It makes a picture smaller until the context work
// ends; left has the pixels that it may still decode for this purpose.
func putFitting(ctx, work context.Context, blobs Blobs, takes attach.Takes, f backends.File, left *int) (blob.File, error) {
	var err error
	if f.File, err = putFile(ctx, blobs, f); err != nil || takes.Fits(f) {
		return f.File, err
	}
	if *left -= f.Width * f.Height; *left < 0 {
		return blob.File{}, attach.RefusedError{Err: fmt.Errorf("the pictures have more than %s pixels together to be made smaller for their model: make them smaller", plain.Thousands(attach.MostDecodedTogether))}
	}
	if f, err = takes.Shrink(work, f); err != nil {
		return blob.File{}, err
	}
	return putFile(ctx, blobs, f)
}

func putFile(ctx context.Context, blobs Blobs, f backends.File) (blob.File, error) {
	data := f.Data
	if f.MediaType == attach.Text {
		data = []byte(contextbuild.Clean(string(data)))
	}
	s := newTextStore(ctx, blobs)
	f.Content = s.put(data)
	if f.MediaType != attach.Text {
		if kept := s.get(f.Content); s.err == nil && !bytes.Equal(kept, data) {
			return blob.File{}, attach.RefusedError{Err: fmt.Errorf("attach %s: it contains a secret of this machine, such as a key in the environment, and models are sent what is stored: leave the file out, or unset that key", f.Name)}
		}
	}
	if s.err != nil {
		return blob.File{}, storeFault{s.err}
	}
	return f.File, nil
}

// returnedFiles collects the files that a tool returns in a call. It is safe for concurrent use.
type returnedFiles struct {
	mu    sync.Mutex
	files []backends.File
}

type returnedFilesKey struct{}

// ReturnFile adds a picture (png, jpeg, webp or gif) to the result of the tool call that ctx belongs
// to. The error says why the picture cannot be added. If the model takes no pictures, a line of the
// result says so.
func ReturnFile(ctx context.Context, name string, data []byte) error {
	returned, ok := ctx.Value(returnedFilesKey{}).(*returnedFiles)
	if !ok {
		return errors.New("it is not returned by a tool of an agent")
	}
	f, err := attach.New(name, data)
	if err != nil {
		return err
	}
	if !attach.IsPicture(f.MediaType) {
		return fmt.Errorf("attach %s: it is no picture", f.Name)
	}
	returned.mu.Lock()
	defer returned.mu.Unlock()
	if err := attach.Check(append(slices.Clip(returned.files), f)); err != nil {
		return err
	}
	returned.files = append(returned.files, f)
	return nil
}

// taken stores the returned files that the member's model takes. For each other file it returns a
// line with the reason. It makes pictures smaller until ctx, the context of the call, ends. The error is
// the store's.
func (r *returnedFiles) taken(ctx context.Context, blobs Blobs, takes attach.Takes) (files []blob.File, lines []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored := context.WithoutCancel(ctx)
	left := attach.MostDecodedTogether
	for _, f := range r.files {
		if !takes.Images {
			lines = append(lines, fmt.Sprintf("[%s, %s of %d by %d pixels, is not shown: this model takes no images]", f.Name, f.MediaType, f.Width, f.Height))
			continue
		}
		file, err := putFitting(stored, ctx, blobs, takes, f, &left)
		var fault storeFault
		late, isLate := overtimeOf(ctx)
		switch {
		case err == nil:
			files = append(files, file)
			continue
		case errors.As(err, &fault):
			return nil, nil, err
		case ctx.Err() != nil && isLate:
			err = fmt.Errorf("it was not made smaller for this model within %s, the most that a call may take", late.limit)
		case ctx.Err() != nil:
			err = errors.New("the call was cancelled before it was made smaller for this model")
		}
		lines = append(lines, fmt.Sprintf("[%s is not shown: %v]", f.Name, err))
	}
	return files, lines, nil
}
