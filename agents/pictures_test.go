package agents_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/attach"
)

func pngOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// headOf is the head of a PNG, without its pixels.
func headOf(width, height uint32) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = append(binary.BigEndian.AppendUint32(chunk, height), 8, 6, 0, 0, 0)
	head := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(chunk))
}

// small is a member whose model takes pictures of 10 by 10 pixels.
func small(tools ...agents.Tool) agents.Member {
	return agents.Member{Tools: tools, Takes: attach.Takes{Images: true, MaxSide: 10}}
}

// TestPicturesOfAToolEndWithItsCall, at the limit of the call and with a cancel. The model gets the pictures that need
// no work, and the reason for each other one.
func TestPicturesOfAToolEndWithItsCall(t *testing.T) {
	for name, test := range map[string]struct {
		limits effect.Limits
		want   string
	}{
		"limit":  {effect.Limits{ToolLimit: 1000}, "[b.png is not shown: it was not made smaller for this model within 1s, the most that a call may take]"},
		"cancel": {effect.Limits{}, "[b.png is not shown: the call was cancelled before it was made smaller for this model]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				draws := tool(func(ctx context.Context) (string, error) {
					for name, data := range map[string][]byte{"a.png": pngOf(t, 5, 5), "b.png": pngOf(t, 500, 500)} {
						if err := agents.ReturnFile(ctx, name, data); err != nil {
							return "", err
						}
					}
					<-ctx.Done()
					return "drawn", nil
				})
				r, w := callTool(t, ctx, test.limits, small(draws))
				if got := w.text(r.Result); got != "drawn\n"+test.want || r.Error || r.Abandoned {
					t.Errorf("%+v: %q", r, got)
				}
				if len(r.Files) != 1 || r.Files[0].Name != "a.png" {
					t.Errorf("the model gets %+v", r.Files)
				}
			})
		})
	}
}

// TestPicturesOfAToolAreCountedTogether: those of one call are no more work than those of one question.
func TestPicturesOfAToolAreCountedTogether(t *testing.T) {
	draws := tool(func(ctx context.Context) (string, error) {
		for range 20 {
			if err := agents.ReturnFile(ctx, "it.png", headOf(8000, 5000)); err != nil {
				return "", err
			}
		}
		return "drawn", nil
	})
	r, w := callTool(t, t.Context(), effect.Limits{}, small(draws))
	const begun = attach.MostDecodedTogether / (8000 * 5000)
	if got := w.text(r.Result); strings.Count(got, "pixels together") != 20-begun {
		t.Errorf("%d pictures were decoded:\n%s", 20-strings.Count(got, "pixels together"), got)
	}
}
