package providers

import (
	"regexp"

	"github.com/massgen/massgen/internal/models/attach"
)

// allFiles are the files of an unknown model: the service refuses what it does not take.
func allFiles() attach.Takes { return attach.Takes{Images: true, PDFs: true} }

// takesOf says what a model takes beside text.
func takesOf(p protocol, c connection) attach.Takes {
	if known, ok := p.(interface{ takes(connection) attach.Takes }); ok {
		return known.takes(c)
	}
	return allFiles()
}

func (p chat) takes(c connection) attach.Takes {
	images, pdfs, maxImage := p.at(c).Takes(c.model)
	return attach.Takes{Images: images, PDFs: pdfs, MaxImage: maxImage}
}

// takes is what the Messages API says of images and PDFs ("Vision" and "PDF support" in its docs,
// November 2026): 5 MB for an image in Base64, and 8,000 pixels a side.
func (claude) takes(c connection) attach.Takes {
	const inBase64 = 5 << 20
	const side = 8000
	return attach.Takes{
		Images: !textClaude.MatchString(c.model), PDFs: !textClaude.MatchString(c.model) && !claude3.MatchString(c.model),
		MaxImage: inBase64 / 4 * 3, MaxSide: side,
	}
}

var (
	textClaude = regexp.MustCompile(`^claude-(2|instant)`)
	claude3    = regexp.MustCompile(`^claude-3-(haiku|sonnet|opus)`)
)
