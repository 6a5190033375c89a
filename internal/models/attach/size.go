package attach

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	imagegif "image/gif"
	imagejpeg "image/jpeg"
	imagepng "image/png"
	"iter"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/heavy"
	"github.com/massgen/massgen/internal/system/plain"
)

// size reads how large a picture is from its head, and decodes no pixel.
func size(mediaType string, data []byte) (width, height int, err error) {
	var config image.Config
	switch mediaType {
	case png:
		config, err = imagepng.DecodeConfig(bytes.NewReader(data))
	case jpeg:
		config, err = imagejpeg.DecodeConfig(bytes.NewReader(data))
	case gif:
		config, err = imagegif.DecodeConfig(bytes.NewReader(data))
	default:
		return webpSize(data)
	}
	return config.Width, config.Height, err
}

// webpSize reads the size of a WebP picture, whose first chunk has one of three forms
// (RFC 9649). The standard library does not read them.
func webpSize(data []byte) (width, height int, err error) {
	const head = 20 // RIFF, a length, WEBP, the chunk's name and its length
	if len(data) < head+10 {
		return 0, 0, errors.New("it is cut")
	}
	chunk := data[head:]
	switch string(data[12:16]) {
	case "VP8 ":
		if !bytes.Equal(chunk[3:6], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, errors.New("its first frame is no key frame")
		}
		const low14 = 1<<14 - 1
		return int(binary.LittleEndian.Uint16(chunk[6:])) & low14, int(binary.LittleEndian.Uint16(chunk[8:])) & low14, nil
	case "VP8L":
		if chunk[0] != 0x2f {
			return 0, 0, errors.New("its lossless form has no signature")
		}
		bits := binary.LittleEndian.Uint32(chunk[1:])
		const low14 = 1<<14 - 1
		return int(bits&low14) + 1, int(bits>>14&low14) + 1, nil
	case "VP8X":
		side := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 + 1 }
		return side(chunk[4:]), side(chunk[7:]), nil
	}
	return 0, 0, errors.New("its first chunk is unknown")
}

// checkFrame refuses a WebP picture whose frame has another size than the picture says, since a
// decoder makes room for the frame.
func checkFrame(f backends.File) error {
	const head = 12 // RIFF, a length, WEBP
	for at := head; at+8 <= len(f.Data); {
		name, length := string(f.Data[at:at+4]), int(binary.LittleEndian.Uint32(f.Data[at+4:]))
		if name == "VP8 " || name == "VP8L" {
			width, height, err := webpSize(append(bytes.Clone(f.Data[:head]), f.Data[at:min(at+32, len(f.Data))]...))
			if err == nil && (width != f.Width || height != f.Height) {
				err = fmt.Errorf("its frame has %s by %s pixels, and the picture %d by %d", plain.Thousands(width), plain.Thousands(height), f.Width, f.Height)
			}
			return err
		}
		at += 8 + length + length%2
	}
	return errors.New("it has no single frame, as one that moves: make it a png or jpeg of fewer pixels")
}

// The most scans of a JPEG that is decoded, and the most pixels of all its scans: each scan of a few bytes
// goes over the whole picture.
const (
	mostScans       = 100
	mostScanned     = 1_500_000_000
	perCoefficients = 4 // bytes a pixel, of a progressive JPEG
)

// decodedBytes returns at most how many bytes a picture takes while it is made smaller. It reads heads
// only, and refuses a picture that is too much work.
func decodedBytes(f backends.File) (int64, error) {
	if f.Width <= 0 || f.Height <= 0 || f.Width > mostDecoded/f.Height {
		return 0, fmt.Errorf("%d by %d pixels are more than this program decodes (%s): make it smaller", f.Width, f.Height, plain.Thousands(mostDecoded))
	}
	pixels := f.Width * f.Height
	var perPixel int
	switch f.MediaType {
	case jpeg:
		scans := bytes.Count(f.Data, []byte{0xff, 0xda})
		if scans > mostScans || scans*pixels > mostScanned {
			return 0, fmt.Errorf("its %s scans of %d by %d pixels are more than this program decodes: save it with fewer scans", plain.Thousands(scans), f.Width, f.Height)
		}
		components, isProgressive := frameOf(f.Data)
		perPixel = components
		if isProgressive {
			perPixel += perCoefficients * components
		}
		if components == 4 {
			perPixel += 4 // CMYK is converted
		}
	case png:
		perPixel = 4
		if len(f.Data) > pngInterlace && f.Data[pngDepth] == 16 {
			perPixel = 8
		}
		if len(f.Data) > pngInterlace && f.Data[pngInterlace] != 0 {
			perPixel *= 2
		}
	case gif:
		perPixel = 2
	default:
		perPixel = 12 // of WebP: its values, transformed, and the picture
	}
	const perOutput = 4
	memory := int64(pixels) * int64(perPixel+perOutput)
	if memory > heavy.MostMemory {
		return 0, fmt.Errorf("to decode %d by %d pixels of its kind takes %s MB, and the most is %s: make it smaller",
			f.Width, f.Height, plain.Thousands(int(memory>>20)), plain.Thousands(heavy.MostMemory>>20))
	}
	return memory, nil
}

// The places in a PNG of its bits a colour, and of its interlace method.
const (
	pngDepth     = 24
	pngInterlace = 28
)

// frameOf reads the frame header of a JPEG. A picture without one has as many components as can be.
func frameOf(data []byte) (components int, isProgressive bool) {
	for at := 2; at+10 <= len(data); {
		if data[at] != 0xff {
			at++
			continue
		}
		switch kind := data[at+1]; {
		case kind >= 0xc0 && kind <= 0xc2:
			return int(min(data[at+9], 4)), kind == 0xc2
		case kind == 0xff || kind == 0 || kind >= 0xd0 && kind <= 0xd9:
			at++
		default:
			at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		}
	}
	return 4, true
}

// bytesPerPage is a small page: it stands for pages that cannot be counted since the objects are
// packed.
const bytesPerPage = 20_000

// pages returns about how many pages a PDF has, at least 1, without decoding it. It reads the data once,
// and stores none of its places.
func pages(data []byte) int {
	most := 0
	for rest := range after(data, "/Type") {
		if rest, ok := bytes.CutPrefix(bytes.TrimLeft(rest, blanks), []byte("/Page")); ok && !beginsWord(rest) {
			most++
		}
	}
	for rest := range after(data, "/Count") {
		digits := bytes.TrimLeft(rest, blanks)
		if n, ok := shortNumber(digits); ok && len(digits) < len(rest) && n <= len(data)/bytesOfPageObject {
			most = max(most, n)
		}
	}
	if most == 0 {
		most = len(data)/bytesPerPage + 1
	}
	return most
}

// blanks are the white space in a PDF.
const blanks = "\t\n\f\r "

// after yields what follows each place of a word.
func after(data []byte, word string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			at := bytes.Index(data, []byte(word))
			if at < 0 {
				return
			}
			if data = data[at+len(word):]; !yield(data) {
				return
			}
		}
	}
}

func beginsWord(data []byte) bool {
	return len(data) > 0 && (data[0] == '_' || data[0]|0x20 >= 'a' && data[0]|0x20 <= 'z' || data[0] >= '0' && data[0] <= '9')
}

// shortNumber returns the number of at most five digits at the beginning of data.
func shortNumber(data []byte) (n int, ok bool) {
	const longest = 5
	end := 0
	for end < len(data) && end < longest && data[end] >= '0' && data[end] <= '9' {
		n = 10*n + int(data[end]-'0')
		end++
	}
	return n, end > 0 && !beginsWord(data[end:])
}

// bytesOfPageObject is less than a page takes in any PDF, so that a number in a small file does
// not pass for so many pages.
const bytesOfPageObject = 20
