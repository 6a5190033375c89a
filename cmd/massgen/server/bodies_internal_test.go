package server

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
)

// TestBodiesShareOneBudget: values count as well as bytes, and count until the request is over.
func TestBodiesShareOneBudget(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string][]byte{
		"bytes":  bytes.Repeat([]byte("x"), 1<<20),
		"values": append(append([]byte("["), bytes.Repeat([]byte("0,"), 100_000)...), '"'),
	} {
		var all bodies
		var held []*heldBody
		var err error
		for err == nil && len(held) < 1000 {
			h := &heldBody{of: &all}
			if _, err := h.Write(piece); err != nil {
				t.Fatal(err)
			}
			err = h.refused
			held = append(held, h)
		}
		var known refusal
		if !errors.As(err, &known) || known.status != http.StatusServiceUnavailable {
			t.Fatalf("%s: after %d bodies: %v", name, len(held), err)
		}
		if name == "values" && len(held) > 20 {
			t.Errorf("%d bodies of 100,000 values are held at a time", len(held))
		}
		if err := held[0].Close(); err != nil || all.held == 0 {
			t.Errorf("%s: %d bytes are held after a body was read, %v", name, all.held, err)
		}
		for _, h := range held {
			h.release()
		}
		if all.held != 0 {
			t.Errorf("%s: %d bytes are held after all requests", name, all.held)
		}
	}
}

func TestShapeIsReadInPieces(t *testing.T) {
	t.Parallel()
	text := []byte(`{"a\\\"{[,":[1,{"b":"\\"},"]"]}`)
	for size := 1; size <= len(text); size++ {
		var s shape
		for from := 0; from < len(text); from += size {
			if err := s.read(text[from:min(from+size, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if s.values != 7 || s.depth != 0 || s.inText {
			t.Errorf("in pieces of %d: %+v", size, s)
		}
	}
}
