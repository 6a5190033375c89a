package attach_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/blob"
)

// noise is a picture that no encoder makes small.
func noise(width, height int) *image.NRGBA {
	random := rand.New(rand.NewPCG(1, 2))
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range out.Pix {
		out.Pix[i] = byte(random.Uint32())
		if i%4 == 3 {
			out.Pix[i] = 255
		}
	}
	return out
}

func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pngOf(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, noise(width, height)) })
}

func jpegOf(t testing.TB, width, height int) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noise(width, height), nil) })
}

// bomb is a PNG of a few bytes that says that it has so many pixels.
func bomb(width, height uint32) []byte {
	head := []byte("IHDR")
	head = binary.BigEndian.AppendUint32(head, width)
	head = binary.BigEndian.AppendUint32(head, height)
	head = append(head, 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func webpOf(kind string, rest ...byte) []byte {
	return append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind+"\x00\x00\x00\x00"), rest...)
}

func TestFileIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	picture := encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, noise(5, 4), nil) })
	for name, test := range map[string]struct {
		data []byte
		want blob.File
	}{
		"png":           {pngOf(t, 3, 2), blob.File{MediaType: "image/png", Width: 3, Height: 2}},
		"jpeg":          {jpegOf(t, 7, 2), blob.File{MediaType: "image/jpeg", Width: 7, Height: 2}},
		"gif":           {picture, blob.File{MediaType: "image/gif", Width: 5, Height: 4}},
		"lossy webp":    {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0x10, 0, 0x20, 0), blob.File{MediaType: "image/webp", Width: 16, Height: 32}},
		"lossless webp": {webpOf("VP8L", 0x2f, 0x0f, 0xc0, 0x07, 0, 0, 0, 0, 0, 0), blob.File{MediaType: "image/webp", Width: 16, Height: 32}},
		"large webp":    {webpOf("VP8X", 0, 0, 0, 0, 15, 0, 0, 31, 0, 0), blob.File{MediaType: "image/webp", Width: 16, Height: 32}},
		"pdf":           {[]byte("%PDF-1.4\n1 0 obj <</Type /Pages /Count 2>> <</Type /Page>> <</Type/Page>> endobj"), blob.File{MediaType: "application/pdf", Pages: 2}},
		"packed pdf":    {[]byte("%PDF-1.7\n\x00\x01\x02"), blob.File{MediaType: "application/pdf", Pages: 1}},
		"text":          {[]byte("käse\n"), blob.File{MediaType: "text/plain"}},
		"html is text":  {[]byte("<html></html>"), blob.File{MediaType: "text/plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := attach.New("../some/folder/it.exe", test.data)
			test.want.Name = "it.exe"
			if err != nil || got.File != test.want || !bytes.Equal(got.Data, test.data) {
				t.Errorf("%+v, %v, want %+v", got.File, err, test.want)
			}
		})
	}
}

// TestTextsAreReadAsUTF8 decodes texts of Windows, and leaves out a byte order mark.
func TestTextsAreReadAsUTF8(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"\ufeffName;Stadt\r\n":          "Name;Stadt\r\n",
		"\xff\xfeh\x00i\x00":            "hi",
		"\xfe\xff\x00h\x00i":            "hi",
		"\xff\xfe\xe9\x00":              "é", // as many bytes as before
		"h\x00i\x00\r\x00\n\x00":        "hi\r\n",
		"\xff\xfe\x00\x00h\x00\x00\x00": "h",
	} {
		got, err := attach.New("it", []byte(data))
		if err != nil || got.MediaType != attach.Text || string(got.Data) != want {
			t.Errorf("%q: got %q of type %s, %v, want %q", data, got.Data, got.MediaType, err, want)
		}
	}
}

func TestWhatCannotBeAttachedIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "the file is empty"},
		"zip":            {[]byte("PK\x03\x04 \x00\xff"), "application/zip"},
		"latin 1":        {[]byte("k\xe4se"), "a text that is not in UTF-8 and looks like WINDOWS-1252"},
		"GBK":            {[]byte("\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7"), "a text that is not in UTF-8 and looks like GB18030"},
		"stray byte":     {[]byte("Gr\u00fc\u00dfe \xff"), "a text that is not in UTF-8"},
		"zero byte":      {[]byte("a text with \x00"), "application/octet-stream"},
		"mark alone":     {[]byte("\ufeff"), "the file is empty"},
		"long text":      {bytes.Repeat([]byte("x"), attach.MostText+1), "let the agents read it from their cwd"},
		"too large":      {append(pngOf(t, 1, 1), make([]byte, attach.MostBytes)...), "the most is 20,971,520"},
		"bomb":           {bomb(60_000, 60_000), "60000 by 60000 pixels"},
		"endless bomb":   {bomb(1<<31-1, 1<<31-1), "has no size"},
		"no pixels":      {webpOf("VP8 ", 0, 0, 0, 0x9d, 1, 0x2a, 0, 0, 0, 0), "0 by 0 pixels"},
		"cut png":        {[]byte("\x89PNG\r\n\x1a\n\x00"), "has no size"},
		"cut webp":       {webpOf("VP8X", 1), "it is cut"},
		"odd webp":       {webpOf("VP8Z", make([]byte, 12)...), "first chunk is unknown"},
		"cut jpeg":       {[]byte{0xff, 0xd8, 0xff, 0xe0, 0, 4}, "has no size"},
		"no lossless":    {webpOf("VP8L", make([]byte, 12)...), "no signature"},
		"no first frame": {webpOf("VP8 ", make([]byte, 12)...), "no key frame"},
	} {
		if _, err := attach.New("it", test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestNameCannotForgeALine(t *testing.T) {
	t.Parallel()
	f, err := attach.New(`C:\x\a]b"<NOTE>`+"\n\x1b[31m.png", []byte("x"))
	if want := "a_b__NOTE____31m.png"; err != nil || f.Name != want {
		t.Errorf("%q, %v, want %q", f.Name, err, want)
	}
	line := attach.Line([]blob.File{f.File})
	if attach.Cut("What?"+line) != "What?" || attach.Cut("What?") != "What?" {
		t.Errorf("%q does not come off again", line)
	}
}

func TestManyFilesAreRefused(t *testing.T) {
	t.Parallel()
	if err := attach.Check(make([]backends.File, attach.MostFiles+1)); err == nil {
		t.Error("21 files are taken")
	}
	half := backends.File{Data: make([]byte, attach.MostBytes/2+1)}
	if err := attach.Check([]backends.File{half, half}); err == nil {
		t.Error("files of more than 20 MiB together are taken")
	}
}

func TestFileIsAttachedOnce(t *testing.T) {
	t.Parallel()
	file := func(name, data string) backends.File {
		return backends.File{File: blob.File{Name: name}, Data: []byte(data)}
	}
	ctx := attach.With(t.Context(), []backends.File{file("a", "1"), file("b", "1"), file("a", "1"), file("a", "2")})
	var got []string
	for _, f := range attach.Of(ctx) {
		got = append(got, f.Name+string(f.Data))
	}
	if want := []string{"a1", "b1", "a2"}; !slices.Equal(got, want) {
		t.Errorf("attached are %q, want %q", got, want)
	}
}

func TestOpenReadsRegularFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{dir: "it is a folder", filepath.Join(dir, "gone.png"): "no such file", os.DevNull: "no regular file"} {
		if _, err := attach.Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestPictureIsMadeToFit(t *testing.T) {
	t.Parallel()
	takes := attach.Takes{Images: true, MaxImage: 20_000, MaxSide: 100}
	for name, data := range map[string][]byte{"a.png": pngOf(t, 300, 150), "b.jpg": jpegOf(t, 150, 300)} {
		f, err := attach.New(name, data)
		if err != nil {
			t.Fatal(err)
		}
		f.Content.Bytes = len(data)
		if takes.Fits(f) {
			t.Fatalf("%s fits already", name)
		}
		small, err := takes.Shrink(t.Context(), f)
		small.Content.Bytes = len(small.Data)
		if err != nil || !takes.Fits(small) || small.MediaType != f.MediaType || small.Name != name {
			t.Errorf("%s: %+v, %v", name, small.File, err)
		}
		again, err := takes.Shrink(t.Context(), f)
		if err != nil || !bytes.Equal(again.Data, small.Data) {
			t.Errorf("%s differs when it is made again, %v", name, err)
		}
		if _, err := attach.New(name, small.Data); err != nil {
			t.Errorf("%s cannot be read any more: %v", name, err)
		}
	}
}

func TestSmallerPictureShowsTheSame(t *testing.T) {
	t.Parallel()
	large := image.NewNRGBA(image.Rect(0, 0, 200, 100))
	for i := range large.Pix {
		large.Pix[i] = 255
	}
	for y := range 100 {
		for x := range 100 {
			large.Set(x, y, color.NRGBA{200, 10, 10, 255})
		}
	}
	f, err := attach.New("a.png", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, large) }))
	if err != nil {
		t.Fatal(err)
	}
	small, err := attach.Takes{Images: true, MaxSide: 20}.Shrink(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(small.Data))
	if err != nil || got.Bounds() != image.Rect(0, 0, 20, 10) {
		t.Fatalf("%v, %v", got.Bounds(), err)
	}
	for x, want := range map[int]color.NRGBA{3: {200, 10, 10, 255}, 15: {255, 255, 255, 255}} {
		if at := color.NRGBAModel.Convert(got.At(x, 5)); at != want {
			t.Errorf("at %d it is %v, want %v", x, at, want)
		}
	}
}

func TestSmallerPictureIsTheSameSideUp(t *testing.T) {
	t.Parallel()
	exif := append([]byte{0xff, 0xe1, 0, 12}, []byte("Exif\x00\x00ABCD")...)
	data := jpegOf(t, 50, 50)
	f, err := attach.New("a.jpg", append(append(append([]byte{}, data[:2]...), exif...), data[2:]...))
	if err != nil {
		t.Fatal(err)
	}
	small, err := attach.Takes{Images: true, MaxSide: 20}.Shrink(t.Context(), f)
	if err != nil || !bytes.Contains(small.Data, exif) {
		t.Errorf("it does not say any more which side is up, %v", err)
	}
}

func TestHugePictureIsNotDecoded(t *testing.T) {
	t.Parallel()
	f, err := attach.New("a.png", bomb(9_000, 9_000))
	if err != nil {
		t.Fatal(err)
	}
	_, err = attach.Takes{Images: true, MaxSide: 8000}.Shrink(t.Context(), f)
	if !errors.As(err, &attach.RefusedError{}) || !strings.Contains(err.Error(), "more than this program decodes") {
		t.Error(err)
	}
}

func TestAddressIsNeverFetched(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://127.0.0.1/a.png", "https://example.com/a.png", "file:///etc/passwd", "ftp://x", "HTTP://x", "javascript:1"} {
		if _, err := attach.FromURL("a", url); !errors.Is(err, attach.ErrNoDataURL) {
			t.Errorf("%s: %v", url, err)
		}
	}
	data := pngOf(t, 2, 2)
	encoded := base64.StdEncoding.EncodeToString(data)
	for _, url := range []string{"data:image/png;base64," + encoded, encoded, "data:text/html;base64," + encoded} {
		if f, err := attach.FromURL("a", url); err != nil || !bytes.Equal(f.Data, data) || f.MediaType != "image/png" {
			t.Errorf("%.30s: %v", url, err)
		}
	}
	for _, url := range []string{"data:image/png," + encoded, "data:image/png;base64", "data:image/png;base64,!!", "data:;base64," + strings.Repeat("A", 4*attach.MostBytes/3+8)} {
		if _, err := attach.FromURL("a", url); err == nil {
			t.Errorf("%.30s is taken", url)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add(pngOf(f, 2, 2))
	f.Add(jpegOf(f, 2, 2))
	f.Add(bomb(1, 1))
	f.Add(webpOf("VP8X", 0, 0, 0, 0, 15, 0, 0, 31, 0, 0))
	f.Add([]byte("%PDF-1.4 /Count 99999 /Type /Page"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := attach.New("x", data)
		if err != nil {
			return
		}
		if file.MediaType == attach.PDF && (file.Pages < 1 || file.Pages > len(data)) {
			t.Errorf("a PDF of %d bytes has %d pages", len(data), file.Pages)
		}
		if attach.IsPicture(file.MediaType) && file.Width*file.Height <= 1<<16 {
			small, err := attach.Takes{Images: true, MaxSide: 3}.Shrink(t.Context(), file)
			if err == nil && max(small.Width, small.Height) > 3 {
				t.Errorf("it has %d by %d pixels", small.Width, small.Height)
			}
		}
	})
}

// plainWebP is a lossless WebP picture of one colour, written bit by bit as RFC 9649 has it: each
// code has one symbol, so that pixels take no bits.
func plainWebP(width, height int, red, green, blue byte) []byte {
	var bits []byte
	put := func(value, count int) {
		for i := range count {
			bits = append(bits, byte(value>>i&1))
		}
	}
	put(0x2f, 8)
	put(width-1, 14)
	put(height-1, 14)
	put(0, 1+3+1+1+1) // no alpha, version 0, no transform, no cache of colours, one group of codes
	for _, symbol := range []byte{green, red, blue, 255} {
		put(0b101, 3) // a simple code, of one symbol, which has 8 bits
		put(int(symbol), 8)
	}
	put(0b0001, 4) // no distance: a simple code of one symbol, which has 1 bit
	data := make([]byte, (len(bits)+15)/16*2)
	for i, bit := range bits {
		data[i/8] |= bit << (i % 8)
	}
	return riff("VP8L", data)
}

// riff is a WebP file of one chunk, which other chunks may stand before.
func riff(kind string, data []byte, before ...byte) []byte {
	out := append([]byte("WEBP"), before...)
	out = append(binary.LittleEndian.AppendUint32(append(out, kind...), uint32(len(data))), data...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(out))), out...)
}

func TestLargeWebPBecomesASmallPNG(t *testing.T) {
	t.Parallel()
	f, err := attach.New("a.webp", plainWebP(400, 200, 200, 100, 50))
	if err != nil {
		t.Fatal(err)
	}
	small, err := attach.Takes{Images: true, MaxSide: 20}.Shrink(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(small.Data))
	if err != nil || small.MediaType != "image/png" || small.Width != 20 || small.Height != 10 {
		t.Fatalf("%s of %d by %d, %v", small.MediaType, small.Width, small.Height, err)
	}
	if got := color.NRGBAModel.Convert(picture.At(3, 3)); got != (color.NRGBA{R: 200, G: 100, B: 50, A: 255}) {
		t.Errorf("its colour is %v", got)
	}
}

// TestHostileWebPIsNotDecoded: the frame of a small picture may be large.
func TestHostileWebPIsNotDecoded(t *testing.T) {
	t.Parallel()
	canvas := append([]byte("VP8X\x0a\x00\x00\x00"), 0, 0, 0, 0, 99, 0, 0, 99, 0, 0) // 100 by 100
	frame := plainWebP(16000, 16000, 1, 2, 3)[20:]
	for want, data := range map[string][]byte{
		"its frame has 16,000 by 16,000 pixels, and the picture 100 by 100": riff("VP8L", frame, canvas...),
		"it has no single frame": riff("ANIM", make([]byte, 6), canvas...),
	} {
		f, err := attach.New("a.webp", data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = (attach.Takes{Images: true, MaxSide: 20}).Shrink(t.Context(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
