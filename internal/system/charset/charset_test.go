package charset

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// TestDecode reads every form of Unicode, and keeps damage and control characters.
func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"ASCII", "hello\n", "hello\n"},
		{"UTF-8", "Grüße 你好", "Grüße 你好"},
		{"UTF-8 with a mark", "\ufeffhello", "hello"},
		{"nothing but a mark", "\ufeff", ""},
		{"UTF-16LE with a mark", "\xff\xfeh\x00i\x00\x3d\xd8\x00\xde", "hi😀"},
		{"UTF-16BE with a mark", "\xfe\xff\x00h\x00i\xd8\x3d\xde\x00", "hi😀"},
		{"UTF-16LE", "h\x00i\x00\n\x00", "hi\n"},
		{"UTF-16BE", "\x00h\x00i\x00\n", "hi\n"},
		{"UTF-16LE of Chinese with a mark", "\xff\xfe\x60\x4f\x7d\x59", "你好"},
		{"UTF-16LE that is cut", "\xff\xfeh\x00i", "h\ufffd"},
		{"half a character in UTF-16", "\xff\xfeh\x00\x3d\xd8i\x00", "h\ufffdi"},
		{"UTF-32LE", "\xff\xfe\x00\x00h\x00\x00\x00\x00\xf6\x01\x00", "h😀"},
		{"UTF-32BE", "\x00\x00\xfe\xff\x00\x00\x00h\x00\x01\xf6\x00", "h😀"},
		{"a stray byte", "Grüße \xff aus Köln", "Grüße \xff aus Köln"},
		{"a stray byte in ASCII", "hello \xff world", "hello \xff world"},
		{"a cut character", "你好\xe4\xbd", "你好\xe4\xbd"},
		{"control characters", "a \x1b[1mbold\x1b[0m word\x07 here", "a \x1b[1mbold\x1b[0m word\x07 here"},
		{"names that end with zero bytes", "one.txt\x00two.txt\x00", "one.txt\x00two.txt\x00"},
	} {
		if got, err := Decode([]byte(c.data)); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestEncodingIsNamed gives the same short texts in other encodings.
func TestEncodingIsNamed(t *testing.T) {
	for _, c := range []struct{ want, data string }{
		{"GB18030", "\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7"},                   // 你好，世界
		{"GB18030", "\xc7\xeb\xd7\xdc\xbd\xe1: abc \xc4\xe3\xba\xc3\n"},           // 请总结: abc 你好
		{"BIG5", "\xa7\x41\xa6\x6e\xa1\x41\xa5\x40\xac\xc9"},                      // 你好，世界
		{"SHIFT_JIS", "\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd\x90\xa2\x8a\x45"}, // こんにちは世界
		{"EUC-JP", "\xa4\xb3\xa4\xf3\xa4\xcb\xa4\xc1\xa4\xcf\xc0\xa4\xb3\xa6"},    // the same
		{"EUC-KR", "\xbe\xc8\xb3\xe7\xc7\xcf\xbc\xbc\xbf\xe4 \xbc\xbc\xb0\xe8"},   // 안녕하세요 세계
		{"WINDOWS-1251", "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0"},                // Привет, мир
		{"KOI8-R", "\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2"},                      // the same
		{"CP866", "\x8f\xe0\xa8\xa2\xa5\xe2, \xac\xa8\xe0"},                       // the same
		{"WINDOWS-1252", "S\xe9 breve: \xbfqu\xe9 es?"},                           // Sé breve: ¿qué es?
		{"WINDOWS-1252", "caf\xe9"}, {"WINDOWS-1252", "Z\xfcrich"}, {"WINDOWS-1252", "it\x92s \x93quoted\x94"}, {"CP850", "Z\x81rich, \xa1s\xa1"},
	} {
		_, err := Decode([]byte(c.data))
		var of *Error
		if !errors.As(err, &of) || of.Encoding != c.want || !strings.Contains(err.Error(), "iconv -f "+c.want+" -t UTF-8") {
			t.Errorf("%q: got %v, want %s", c.data, err, c.want)
		}
	}
}

// TestNoText refuses data by its kind.
func TestNoText(t *testing.T) {
	for data, want := range map[string]string{
		"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff": "image/png",
		strings.Repeat("\x00", 100):                   "application/octet-stream",
		"\x7fELF\x02\x01\x01\x00\xff\x00\x00\x00":     "application/octet-stream",
	} {
		_, err := Decode([]byte(data))
		var of *Error
		if !errors.As(err, &of) || of.Encoding != "" || of.Kind != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// TestNoteCountsBytes counts the bytes that models do not see.
func TestNoteCountsBytes(t *testing.T) {
	for text, want := range map[string]string{
		"hello\tworld\r\n\ufffd": "",
		"a\xff\xfeb":             "the question has 2 bytes that are not UTF-8: models are shown U+FFFD in their place",
		"a\x1b[0m\x00\u0085":     "the question has 4 bytes of control characters: models are shown U+FFFD in their place",
		"a\xff\x00":              "the question has 1 byte that is not UTF-8 and 1 byte of control characters: models are shown U+FFFD in their place",
	} {
		if got := Note(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"hello", "\xff\xfeh\x00", "\xc4\xe3\xba\xc3", "\xff\xfe\x00\x00", "caf\xe9"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := Decode(data)
		if utf8.Valid(data) && err == nil && text != strings.TrimPrefix(string(data), "\ufeff") && !strings.Contains(string(data), "\x00") {
			t.Fatalf("%q became %q", data, text)
		}
		if text, err := Strict(data); err == nil && !utf8.ValidString(text) {
			t.Fatalf("%q is not UTF-8", text)
		}
	})
}

// TestReader decodes a stream, in reads of any size.
func TestReader(t *testing.T) {
	for data, want := range map[string]string{
		"":                              "",
		"\n":                            "\n",
		"\ufeffhi\n":                    "hi\n",
		"\xff\xfeh\x00\n\x00":           "h\n",
		"\xfe\xff\x00h\xd8\x3d\xde\x00": "h😀",
		"\xff\xfe\x3d\xd8i\x00":         "\ufffdi",
		"\xff\xfeh\x00i":                "h\ufffd",
		"\xff\xfe\x3d\xd8":              "\ufffd",
		"\xffa":                         "\xffa",
		"caf\xe9":                       "caf\xe9",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(data), "bytes": iotest.OneByteReader(strings.NewReader(data))} {
			got, err := io.ReadAll(NewReader(r))
			if err != nil || string(got) != want {
				t.Errorf("%q, %s: got %q, %v, want %q", data, name, got, err, want)
			}
		}
	}
}

// TestReaderDoesNotWait reads a line without the bytes behind it.
func TestReaderDoesNotWait(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	go func() { _, _ = out.Write([]byte("\n")) }()
	got := make([]byte, 8)
	if n, err := NewReader(in).Read(got); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
}
