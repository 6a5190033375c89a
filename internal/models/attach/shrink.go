package attach

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	imagegif "image/gif"
	imagejpeg "image/jpeg"
	imagepng "image/png"
	"io"

	xwebp "golang.org/x/image/webp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/heavy"
)

// Takes describes the files that a model accepts beside text. The zero Takes accepts only text.
type Takes struct {
	Images, PDFs bool
	// MaxImage is the most bytes of a picture, and MaxSide the most pixels of its longer side; 0 means that
	// the service sets no limit. A larger picture is made smaller.
	MaxImage, MaxSide int
}

// And returns what both take.
func (t Takes) And(other Takes) Takes {
	least := func(a, b int) int {
		if a == 0 || b == 0 {
			return max(a, b)
		}
		return min(a, b)
	}
	return Takes{t.Images && other.Images, t.PDFs && other.PDFs, least(t.MaxImage, other.MaxImage), least(t.MaxSide, other.MaxSide)}
}

// Has reports whether a model takes a media type.
func (t Takes) Has(mediaType string) bool {
	switch {
	case IsPicture(mediaType):
		return t.Images
	case mediaType == PDF:
		return t.PDFs
	}
	return mediaType == Text
}

// fits reports whether a picture can go as it is.
func (t Takes) fits(width, height, bytes int) bool {
	return (t.MaxSide == 0 || max(width, height) <= t.MaxSide) && (t.MaxImage == 0 || bytes <= t.MaxImage)
}

// Fits reports whether a file that the model takes goes as it is.
func (t Takes) Fits(f backends.File) bool {
	return !IsPicture(f.MediaType) || t.fits(f.Width, f.Height, f.Content.Bytes)
}

// mostDecoded bounds the pixels of a picture that is decoded to be made smaller, and MostDecodedTogether
// those of all pictures of a question.
const (
	mostDecoded         = 40_000_000
	MostDecodedTogether = 400_000_000
)

// Shrink returns a smaller picture, which fits. The same version of this program makes the same
// bytes everywhere. It stops when ctx ends, with the error of ctx; any other error is a RefusedError.
func (t Takes) Shrink(ctx context.Context, f backends.File) (smaller backends.File, err error) {
	memory, err := decodedBytes(f)
	if err == nil {
		err = heavy.Pictures.Do(ctx, memory, func() error {
			smaller, err = t.shrink(ctx, f)
			return err
		})
	}
	switch {
	case ctx.Err() != nil:
		return backends.File{}, ctx.Err()
	case err != nil:
		return backends.File{}, RefusedError{fmt.Errorf("make %s smaller for its model: %w", f.Name, err)}
	}
	return smaller, nil
}

func (t Takes) shrink(ctx context.Context, f backends.File) (backends.File, error) {
	picture, err := decode(f, &endingReader{ctx: ctx, data: f.Data})
	if err != nil {
		return backends.File{}, err
	}
	bounds := picture.Bounds()
	width, height := bounds.Dx(), bounds.Dy()
	if longer := max(width, height); t.MaxSide > 0 && longer > t.MaxSide {
		width, height = width*t.MaxSide/longer, height*t.MaxSide/longer
	}
	for {
		width, height = max(width, 1), max(height, 1)
		small, err := scaled(ctx, picture, width, height)
		if err != nil {
			return backends.File{}, err
		}
		data, err := encode(ctx, f, small)
		if err != nil {
			return backends.File{}, err
		}
		if t.fits(width, height, len(data)) || width*height == 1 {
			mediaType := png
			if f.MediaType == jpeg {
				mediaType = jpeg
			}
			smaller, err := New(f.Name, data)
			smaller.MediaType = mediaType
			return smaller, err
		}
		width, height = width*3/4, height*3/4
	}
}

func decode(f backends.File, r io.Reader) (image.Image, error) {
	switch f.MediaType {
	case png:
		return imagepng.Decode(r)
	case jpeg:
		return imagejpeg.Decode(r)
	case gif:
		return imagegif.Decode(r) // its first frame
	case webp:
		if err := checkFrame(f); err != nil {
			return nil, err
		}
		return xwebp.Decode(r)
	}
	return nil, fmt.Errorf("this program does not decode %s: make it a png or jpeg of fewer pixels", f.MediaType)
}

// endingReader reads data, and fails when its context has ended: decoders take no context. It gives out
// few bytes at a time, since a few bytes can be work for seconds.
type endingReader struct {
	ctx  context.Context
	data []byte
}

// Read implements io.Reader.
func (r *endingReader) Read(p []byte) (int, error) {
	const most = 32
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(len(r.data), most)])
	r.data = r.data[n:]
	return n, nil
}

// endingBuffer is a buffer that takes nothing more when its context has ended.
type endingBuffer struct {
	ctx context.Context
	bytes.Buffer
}

// Write implements io.Writer.
func (b *endingBuffer) Write(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return b.Buffer.Write(p)
}

func encode(ctx context.Context, f backends.File, picture image.Image) ([]byte, error) {
	out := endingBuffer{ctx: ctx}
	if f.MediaType != jpeg {
		err := imagepng.Encode(&out, picture)
		return out.Bytes(), err
	}
	const quality = 90
	err := imagejpeg.Encode(&out, picture, &imagejpeg.Options{Quality: quality})
	return withExif(out.Bytes(), exif(f.Data)), err
}

// exif returns the segment of a JPEG that says which side is up, nil if it has no such segment.
func exif(data []byte) []byte {
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != 0xda; {
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end > len(data) || end <= at+4 {
			return nil
		}
		if data[at+1] == 0xe1 && bytes.HasPrefix(data[at+4:end], []byte("Exif\x00")) {
			return data[at:end]
		}
		at = end
	}
	return nil
}

func withExif(data, segment []byte) []byte {
	if len(segment) == 0 || len(data) < 2 {
		return data
	}
	return append(append(append([]byte{}, data[:2]...), segment...), data[2:]...)
}

// scaled returns a picture of a smaller size: each of its pixels is the mean of the pixels in its place. The
// error is ctx's.
func scaled(ctx context.Context, picture image.Image, width, height int) (image.Image, error) {
	from := picture.Bounds()
	if from.Dx() == width && from.Dy() == height {
		return picture, nil
	}
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		top, bottom := y*from.Dy()/height, (y+1)*from.Dy()/height
		for x := range width {
			left, right := x*from.Dx()/width, (x+1)*from.Dx()/width
			c := mean(picture, image.Rect(left, top, max(right, left+1), max(bottom, top+1)).Add(from.Min))
			// The picture has 8 bits a colour.
			out.SetNRGBA(x, y, color.NRGBA{R: uint8(c.R >> 8), G: uint8(c.G >> 8), B: uint8(c.B >> 8), A: uint8(c.A >> 8)})
		}
	}
	return out, nil
}

// mean returns the colour of a part of a picture.
func mean(picture image.Image, part image.Rectangle) color.NRGBA64 {
	var r, g, b, a, n uint64
	add := func(pr, pg, pb, pa uint32) {
		r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
	}
	quick, isQuick := picture.(image.RGBA64Image) // the same colours without an allocation for each
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if isQuick {
				c := quick.RGBA64At(x, y)
				add(uint32(c.R), uint32(c.G), uint32(c.B), uint32(c.A))
			} else {
				add(picture.At(x, y).RGBA())
			}
		}
	}
	of := color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
	return color.NRGBA64Model.Convert(of).(color.NRGBA64)
}
