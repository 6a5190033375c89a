package app_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/massgen/massgen/backends"
)

// picture FILE WIDTH HEIGHT [MORE] writes a PNG, and more bytes after it.
func cmdPicture(ts *testscript.TestScript, _ bool, args []string) {
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b bytes.Buffer
	ts.Check(png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	for _, more := range args[3:] {
		b.WriteString(more)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// filesent SERVER FILE N: so many calls had the file in a message, byte for byte and once.
func cmdFileSent(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	data, got := []byte(ts.ReadFile(args[1])), 0
	for _, c := range serverOf(ts, args[0]).Calls() {
		for _, m := range c.Messages() {
			for _, p := range m.Parts {
				if image, ok := p.(backends.Image); ok && bytes.Equal(image.Data, data) {
					got++
				}
			}
		}
	}
	if got != want {
		ts.Fatalf("%s was sent %s %d times, want %d", args[0], args[1], got, want)
	}
}
