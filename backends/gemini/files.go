package gemini

import (
	"regexp"
	"strconv"

	"github.com/massgen/massgen/backends"
)

// filePart is the part of a picture or a PDF.
func filePart(f backends.File) *part { return &part{InlineData: &blob{f.MediaType, f.Data}} }

// addReturned puts the files that tools returned where the model reads them: from Gemini 3 on in
// the results ("Multimodal function responses" in "Function calling"), for older models after
// all results.
func addReturned(parts []any, results []returned, model string) []any {
	for _, r := range results {
		for _, f := range r.files {
			if nestsFiles(model) {
				r.in.Parts = append(r.in.Parts, filePart(f))
			} else {
				parts = append(parts, filePart(f))
			}
		}
	}
	return parts
}

// returned are the files of a result.
type returned struct {
	in    *functionResponse
	files []backends.File
}

var generation = regexp.MustCompile(`gemini-(\d+)`)

func nestsFiles(model string) bool {
	m := generation.FindStringSubmatch(model)
	if m == nil {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err == nil && n >= 3
}
