package tokens

import "github.com/massgen/massgen/backends"

// What services say that files take. Claude counts a picture's pixels and shows at most about
// 2,576 by 1,960 of them; OpenAI and Gemini count tiles and come to less, but for the oldest
// small models. Of a PDF's page the services read the text and a picture.
const (
	pixelsPerToken = 750
	leastPicture   = 258
	mostPicture    = 4784
	perPage        = 4600
)

// OfFile is about how many tokens a picture or a PDF takes at most.
func OfFile(f backends.File) int {
	if f.Pages > 0 {
		return f.Pages * perPage
	}
	if f.Width == 0 { // a text, which counts where it was read
		return f.Content.Bytes / BytesPerToken
	}
	return min(max(f.Width*f.Height/pixelsPerToken, leastPicture), mostPicture)
}
