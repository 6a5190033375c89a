package attach_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/models/attach"
)

// scanned is a progressive JPEG, grey all over, with so many scans of some forty bytes each.
func scanned(width, height, scans int) []byte {
	segment := func(marker byte, data []byte) []byte {
		out := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(data)+2))
		return append(out, data...)
	}
	frame := binary.BigEndian.AppendUint16([]byte{8}, uint16(height))
	frame = binary.BigEndian.AppendUint16(frame, uint16(width))
	ones := bytes.Repeat([]byte{1}, 64)
	out := []byte{0xff, 0xd8}
	out = append(out, segment(0xdb, append([]byte{0}, ones...))...)
	out = append(out, segment(0xc2, append(frame, 1, 1, 0x11, 0))...)
	// Each table has the code 0: a difference of 0, and a run of 2^14 blocks at least. The code 10 ends one block.
	out = append(out, segment(0xc4, append(append([]byte{0x00, 1}, make([]byte, 15)...), 0))...)
	out = append(out, segment(0xc4, append(append([]byte{0x10, 1, 1}, make([]byte, 14)...), 0xe0, 0))...)
	var codes strings.Builder
	for left := (width + 7) / 8 * ((height + 7) / 8); left > 0; {
		if left < 1<<14 {
			codes.WriteString("10")
			left--
			continue
		}
		run := min(left, 1<<15-1)
		fmt.Fprintf(&codes, "0%014b", run-1<<14)
		left -= run
	}
	bits := codes.String() + strings.Repeat("1", (8-codes.Len()%8)%8)
	scan := segment(0xda, []byte{1, 1, 0, 1, 63, 0})
	for ; bits != ""; bits = bits[8:] {
		n, _ := strconv.ParseUint(bits[:8], 2, 8)
		if scan = append(scan, byte(n)); n == 0xff {
			scan = append(scan, 0)
		}
	}
	return append(append(out, bytes.Repeat(scan, scans)...), 0xff, 0xd9)
}

func TestPicturesThatAreTooMuchWorkAreRefused(t *testing.T) {
	t.Parallel()
	deep := bomb(6400, 6200)
	deep[24], deep[28] = 16, 1 // 16 bits a colour, interlaced
	binary.BigEndian.PutUint32(deep[29:], crc32.ChecksumIEEE(deep[12:29]))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"scans":            {scanned(100, 100, 101), "101 scans"},
		"scans and pixels": {scanned(8000, 4000, 48), "48 scans of 8000 by 4000 pixels"},
		"memory":           {deep, "to decode 6400 by 6200 pixels of its kind"},
	} {
		f, err := attach.New("it", test.data)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = attach.Takes{Images: true, MaxSide: 50}.Shrink(t.Context(), f)
		if !errors.As(err, &attach.RefusedError{}) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestPictureOfSomeScansIsMadeSmaller(t *testing.T) {
	t.Parallel()
	f, err := attach.New("a.jpg", scanned(400, 300, 12))
	if err != nil {
		t.Fatal(err)
	}
	small, err := attach.Takes{Images: true, MaxSide: 40}.Shrink(t.Context(), f)
	if err != nil || small.Width != 40 || small.Height != 30 {
		t.Errorf("%+v, %v", small.File, err)
	}
}

// TestShrinkEndsWithItsContext has the context end after some looks at it, in each stage of the work.
func TestShrinkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"a.jpg": jpegOf(t, 300, 200), "a.png": pngOf(t, 300, 200), "scans.jpg": scanned(1000, 1000, 50)} {
		f, err := attach.New(name, data)
		if err != nil {
			t.Fatal(err)
		}
		takes := attach.Takes{Images: true, MaxSide: 280}
		all := &looks{Context: t.Context(), left: 1 << 30}
		if _, err := takes.Shrink(all, f); err != nil {
			t.Fatal(name, err)
		}
		of := 1<<30 - all.left
		if of < 100 {
			t.Errorf("%s: Shrink looks at its context %d times", name, of)
		}
		for _, left := range []int{0, 1, of / 4, of / 2, of * 3 / 4, of - 3} {
			if _, err := takes.Shrink(&looks{Context: t.Context(), left: left}, f); !errors.Is(err, context.Canceled) || errors.As(err, &attach.RefusedError{}) {
				t.Errorf("%s: ended after %d of %d looks: %v", name, left, of, err)
			}
		}
	}
}

// looks is a context that ends after so many looks at its error.
type looks struct {
	context.Context
	left int
}

func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestPagesAreCounted as regular expressions would count them.
func TestPagesAreCounted(t *testing.T) {
	t.Parallel()
	object, count := regexp.MustCompile(`/Type\s*/Page\b`), regexp.MustCompile(`/Count\s+(\d{1,5})\b`)
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"/Type", " ", "/Page", "s", "\n\r\t", "/Count", "1", "23", "123456", "_", "é", "\v", "<<>>", "/Type /Page", "/Count 3"}
	for range 5_000 {
		data := []byte("%PDF-1.4")
		for range random.IntN(60) {
			data = append(data, pieces[random.IntN(len(pieces))]...)
		}
		want := len(object.FindAllIndex(data, -1))
		for _, m := range count.FindAllSubmatch(data, -1) {
			if n, err := strconv.Atoi(string(m[1])); err == nil && n <= len(data)/20 {
				want = max(want, n)
			}
		}
		if want == 0 {
			want = len(data)/20_000 + 1
		}
		if f, err := attach.New("a.pdf", data); err != nil || f.Pages != want {
			t.Fatalf("%q has %d pages, %v, want %d", data, f.Pages, err, want)
		}
	}
}

func TestPagesOfALargeFileTakeNoMemory(t *testing.T) {
	data := append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("/Type /Page/Count 1 "), 500_000)...)
	begun := time.Now()
	if n := testing.AllocsPerRun(1, func() {
		if _, err := attach.New("a.pdf", data); err != nil {
			t.Error(err)
		}
	}); n > 100 {
		t.Errorf("counting its pages allocates %v times", n)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
