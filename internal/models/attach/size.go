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
	"regexp"
	"strconv"

	"github.com/massgen/massgen/backends"
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

var (
	pageObject = regexp.MustCompile(`/Type\s*/Page\b`)
	pageCount  = regexp.MustCompile(`/Count\s+(\d{1,5})\b`)
)

// bytesPerPage is a small page: it stands for pages that cannot be counted since the objects are
// packed.
const bytesPerPage = 20_000

// pages is about how many pages a PDF has, at least 1, without decoding it.
func pages(data []byte) int {
	most := len(pageObject.FindAllIndex(data, -1))
	for _, m := range pageCount.FindAllSubmatch(data, -1) {
		if n, err := strconv.Atoi(string(m[1])); err == nil && n <= len(data)/bytesOfPageObject {
			most = max(most, n)
		}
	}
	if most == 0 {
		most = len(data)/bytesPerPage + 1
	}
	return most
}

// bytesOfPageObject is less than a page takes in any PDF, so that a number in a small file does
// not pass for so many pages.
const bytesOfPageObject = 20
