package prices

import (
	"strings"
	"sync"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/massgen/massgen/backends"
)

// Count is a number of tokens.
type Count struct {
	Tokens int `json:"tokens"`
	// Estimated reports whether a part was not counted by the model's tokenizer.
	Estimated bool `json:"estimated,omitempty"`
}

// Plus returns the sum of two counts, which is estimated if one of them is.
func (c Count) Plus(d Count) Count {
	return Count{c.Tokens + d.Tokens, c.Estimated || d.Estimated}
}

// Vocabularies holds the vocabularies of tokenizers. Each is loaded when a text is first
// counted with it, which takes some 20 ms and 6 MB. It is safe for concurrent use.
type Vocabularies struct{ o200k func() *codec.Codec }

// NewVocabularies returns Vocabularies that have loaded nothing.
func NewVocabularies() *Vocabularies {
	// The package of all encodings would make the program 12 MB larger, this one
	// makes it 7 MB larger. The models that need another are of 2023 or before.
	return &Vocabularies{o200k: sync.OnceValue(codec.NewO200kBase)}
}

// Counter counts for one model. It is safe for concurrent use.
type Counter struct{ codec func() *codec.Codec }

// Counter returns the counter of a model, under its name in a config or at its
// provider.
func (v *Vocabularies) Counter(provider, model string) Counter {
	if usesO200k(provider, model) {
		return Counter{v.o200k}
	}
	return Counter{}
}

// usesO200k knows the models whose tokenizer OpenAI has published as o200k_base,
// or as o200k_harmony, which differs from it in what no text can hold. Services
// put names before it (openai/gpt-5-mini, accounts/fireworks/models/gpt-oss-120b).
func usesO200k(provider, model string) bool {
	maker, name := "", strings.ToLower(strings.TrimPrefix(model, "ft:"))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		maker, name = name[:i], name[i+1:]
	}
	for _, family := range []string{"gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	// Models of others may have these short names too.
	family, _, _ := strings.Cut(name, "-")
	switch family {
	case "o1", "o3", "o4":
		return maker == "openai" || maker == "" && (provider == "openai" || provider == "azure_openai")
	}
	return false
}

// BytesPerToken divides a text's size where no tokenizer counts it (DESIGN §6).
// It is low for English, which has four, so that the estimate is rather too high.
const BytesPerToken = 3

// Text counts the tokens of a text, in time that grows with its length alone: a
// second is enough for a megabyte of anything, and for ten of prose.
func (c Counter) Text(text string) Count {
	if c.codec != nil {
		if sum, err := count(c.codec(), text); err == nil {
			return sum
		}
	}
	return estimated(len(text))
}

func estimated(bytes int) Count {
	return Count{Tokens: (bytes + BytesPerToken - 1) / BytesPerToken, Estimated: true}
}

// bytes is Text for data, which an estimate does not copy.
func (c Counter) bytes(data []byte) Count {
	if c.codec == nil {
		return estimated(len(data))
	}
	return c.Text(string(data))
}

// count parts the text before each blank line that has white space in it. There
// the library errs: it looks for the first line break where the encoding wants the
// last, so that the line counts a token too many, and a million such lines take
// hours if it is given them at once.
func count(codec *codec.Codec, text string) (Count, error) {
	var sum Count
	for {
		end := beforeBlankLine(text)
		n, err := codec.Count(text[:end])
		sum.Tokens += n + strings.Count(text[:end], lost)
		if end == len(text) || err != nil {
			return sum, err
		}
		sum.Estimated, text = true, text[end:]
	}
}

// lost is the one character that the library passes over. Each is a token.
const lost = "\x7f"

const lineBreaks = "\r\n"

// beforeBlankLine returns how long text is up to the first line, after its own
// first, that has white space and nothing else.
func beforeBlankLine(text string) int {
	for at := 0; ; {
		lineBreak := strings.IndexAny(text[at:], lineBreaks)
		if lineBreak < 0 {
			return len(text)
		}
		line := strings.TrimLeft(text[at+lineBreak:], lineBreaks)
		rest := strings.TrimLeftFunc(line, func(r rune) bool { return unicode.IsSpace(r) && !strings.ContainsRune(lineBreaks, r) })
		if rest != "" && rest != line && strings.IndexAny(rest[:1], lineBreaks) == 0 {
			return len(text) - len(line)
		}
		at = len(text) - len(rest)
	}
}

// What is added to the texts. The first two are the figures that OpenAI publishes
// for its chat models; others do not tell theirs, which are about the same.
const (
	perMessage = 4 // the marks around a message, and its role
	perReply   = 3 // the marks with which the reply begins
	perTool    = 12
	perImage   = 1000 // of a usual size: services count 85 to 1,600
)

// Message counts the tokens of a message, with the marks around it. An image is an
// estimate. Readable reasoning is not sent, and counts nothing.
func (c Counter) Message(m backends.Message) Count {
	sum := Count{Tokens: perMessage}
	for _, p := range m.Parts {
		sum = sum.Plus(c.part(p))
	}
	return sum
}

func (c Counter) part(p backends.Part) Count {
	switch p := p.(type) {
	case backends.Text:
		return c.Text(p.Text)
	case backends.ToolCall:
		return c.Text(p.ID).Plus(c.Text(p.Name)).Plus(c.Text(p.Arguments))
	case backends.ToolResult:
		sum := c.Text(p.CallID).Plus(c.Text(p.Content))
		for _, f := range p.Files {
			sum = sum.Plus(c.part(f))
		}
		return sum
	case backends.File:
		return Count{Tokens: fileTokens(p), Estimated: true}
	case backends.Opaque:
		return Count{Tokens: len(p.Data) / BytesPerToken, Estimated: true}
	case backends.Image:
		return Count{Tokens: perImage, Estimated: true}
	}
	return Count{}
}

// Messages counts the tokens of a conversation that a reply is asked for.
func (c Counter) Messages(messages []backends.Message) Count {
	sum := Count{Tokens: perReply}
	for _, m := range messages {
		sum = sum.Plus(c.Message(m))
	}
	return sum
}

// Request counts the input tokens of a request: its messages, its tools, and the
// schema of the reply. Providers write tools for the model in a form of their own,
// which is shorter than the JSON that is counted here.
func (c Counter) Request(req backends.Request) Count {
	sum := c.Messages(req.Messages)
	for _, t := range req.Tools {
		sum = sum.Plus(Count{Tokens: perTool})
		sum = sum.Plus(c.Text(t.Name)).Plus(c.Text(t.Description)).Plus(c.bytes(t.Schema))
	}
	if len(req.Schema) > 0 {
		sum = sum.Plus(c.bytes(req.Schema))
	}
	return sum
}

// The tokens that files take, by the docs of services. Claude counts a picture's pixels and
// shows at most about 2,576 by 1,960 of them; OpenAI and Gemini count tiles and come to less, but for the oldest
// small models. Of a PDF's page the services read the text and a picture.
const (
	pixelsPerToken = 750
	leastPicture   = 258
	mostPicture    = 4784
	perPage        = 4600
)

// fileTokens is about how many tokens a picture or a PDF takes at most.
func fileTokens(f backends.File) int {
	if f.Pages > 0 {
		return f.Pages * perPage
	}
	if f.Width == 0 { // a text, which counts where it was read
		return f.Content.Bytes / BytesPerToken
	}
	return min(max(f.Width*f.Height/pixelsPerToken, leastPicture), mostPicture)
}
