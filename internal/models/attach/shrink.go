package attach

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	imagegif "image/gif"
	imagejpeg "image/jpeg"
	imagepng "image/png"

	xwebp "golang.org/x/image/webp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// Takes says what a model takes beside text. The zero Takes takes only text.
type Takes struct {
	Images, PDFs bool
	// MaxImage is how many bytes a picture may have, MaxSide how many pixels its longer side
	// may; 0 where the service says nothing. A larger picture is made smaller.
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

// mostDecoded bounds the pixels of a picture that is decoded to be made smaller: at 8 bytes
// each they take 320 MB.
const mostDecoded = 40_000_000

// Shrink returns a smaller picture, which fits. The same version of this program makes the same
// bytes everywhere.
func (t Takes) Shrink(f backends.File) (backends.File, error) {
	fail := func(err error) (backends.File, error) {
		return backends.File{}, RefusedError{fmt.Errorf("make %s smaller for its model: %w", f.Name, err)}
	}
	if f.Width > mostDecoded/f.Height {
		return fail(fmt.Errorf("%d by %d pixels are more than this program decodes (%s): make it smaller", f.Width, f.Height, plain.Thousands(mostDecoded)))
	}
	picture, err := decode(f)
	if err != nil {
		return fail(err)
	}
	bounds := picture.Bounds()
	width, height := bounds.Dx(), bounds.Dy()
	if longer := max(width, height); t.MaxSide > 0 && longer > t.MaxSide {
		width, height = width*t.MaxSide/longer, height*t.MaxSide/longer
	}
	for {
		width, height = max(width, 1), max(height, 1)
		data, err := encode(f, scaled(picture, width, height))
		if err != nil {
			return fail(err)
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

func decode(f backends.File) (image.Image, error) {
	switch f.MediaType {
	case png:
		return imagepng.Decode(bytes.NewReader(f.Data))
	case jpeg:
		return imagejpeg.Decode(bytes.NewReader(f.Data))
	case gif:
		return imagegif.Decode(bytes.NewReader(f.Data)) // its first frame
	case webp:
		if err := checkFrame(f); err != nil {
			return nil, err
		}
		return xwebp.Decode(bytes.NewReader(f.Data))
	}
	return nil, fmt.Errorf("this program does not decode %s: make it a png or jpeg of fewer pixels", f.MediaType)
}

func encode(f backends.File, picture image.Image) ([]byte, error) {
	var out bytes.Buffer
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

// scaled returns a picture of a smaller size: each of its pixels is the mean of those that it
// stands for.
func scaled(picture image.Image, width, height int) image.Image {
	from := picture.Bounds()
	if from.Dx() == width && from.Dy() == height {
		return picture
	}
	out := image.NewNRGBA64(image.Rect(0, 0, width, height))
	for y := range height {
		top, bottom := y*from.Dy()/height, (y+1)*from.Dy()/height
		for x := range width {
			left, right := x*from.Dx()/width, (x+1)*from.Dx()/width
			out.SetNRGBA64(x, y, mean(picture, image.Rect(left, top, max(right, left+1), max(bottom, top+1)).Add(from.Min)))
		}
	}
	return narrow(out)
}

// mean is the colour of a part of a picture.
func mean(picture image.Image, part image.Rectangle) color.NRGBA64 {
	var r, g, b, a, n uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			pr, pg, pb, pa := picture.At(x, y).RGBA()
			r, g, b, a, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), a+uint64(pa), n+1
		}
	}
	of := color.RGBA64{R: uint16(r / n), G: uint16(g / n), B: uint16(b / n), A: uint16(a / n)}
	return color.NRGBA64Model.Convert(of).(color.NRGBA64)
}

// narrow leaves a picture 8 bits a colour.
func narrow(picture *image.NRGBA64) image.Image {
	out := image.NewNRGBA(picture.Rect)
	for i := range out.Pix {
		out.Pix[i] = picture.Pix[2*i]
	}
	return out
}
