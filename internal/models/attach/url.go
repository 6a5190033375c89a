package attach

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// ErrNoDataURL is the error of FromURL for an address that would have to be fetched.
var ErrNoDataURL = errors.New("only data: URLs are taken, and nothing is fetched: send the bytes in Base64")

// FromURL reads a file from a data: URL in Base64, or from Base64 alone.
func FromURL(name, url string) (backends.File, error) {
	rest, isData := strings.CutPrefix(url, "data:")
	_, encoded, hasComma := strings.Cut(rest, ",")
	switch {
	case isData && (!hasComma || !strings.HasSuffix(strings.TrimSuffix(rest, ","+encoded), ";base64")):
		return backends.File{}, errors.New("the data: URL is not in Base64")
	case !isData && strings.Contains(url, ":"):
		return backends.File{}, ErrNoDataURL
	case !isData:
		encoded = url
	}
	if base64.StdEncoding.DecodedLen(len(encoded)) > MostBytes+2 {
		return backends.File{}, fmt.Errorf("attach %s: it has more than %s bytes, which is the most", cleanName(name), plain.Thousands(MostBytes))
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return backends.File{}, errors.New("what is there is not in Base64")
	}
	return New(name, data)
}
