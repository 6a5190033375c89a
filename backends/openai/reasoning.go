package openai

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// origin is who an answer is from: its opaque parts go back to nobody else.
type origin struct{ provider, model string }

// keptReasoning holds the reasoning fields that the next request returns, under their
// names on the wire.
type keptReasoning struct {
	Content string            `json:"reasoning_content,omitempty"`
	Details []json.RawMessage `json:"reasoning_details,omitempty"`
	extras
}

// keptMessage is the data of an opaque part: what goes back with a message, and with its calls by their ids.
type keptMessage struct {
	keptReasoning
	Calls map[string]keptCall `json:"calls,omitempty"`
}

// noReasoning takes the place of missing reasoning, or of another model's: the services
// that want reasoning refuse a call without it, or with an empty text
// (github.com/BerriAI/litellm, llms/deepseek and llms/moonshot).
const noReasoning = " "

// kept returns what goes back with a message.
func (e encoder) kept(m backends.Message) keptMessage {
	var out keptMessage
	for _, p := range m.Parts {
		o, ok := p.(backends.Opaque)
		if !ok || o.Provider != e.provider || o.Model != e.model {
			continue
		}
		if err := json.Unmarshal(o.Data, &out); err != nil {
			continue // it was not kept by this package
		}
	}
	if e.dialect.Reasoning == "" {
		out.Content, out.Details = "", nil
	} else if e.dialect.NeedsReasoning && out.Content == "" && len(m.ToolCalls()) > 0 {
		out.Content = noReasoning
	}
	return out
}

// reasoningKeeper collects the reasoning of one answer in the form in which it goes
// back.
type reasoningKeeper struct {
	form    string
	text    strings.Builder
	details []*reasoningDetail
	extras  extras
}

// reasoningDetail is one object of reasoning_details. Its texts come in pieces, all
// else is said once.
type reasoningDetail struct {
	fields map[string]any
	texts  map[string]*strings.Builder
}

// detailPieces are the reasoning_details of one chunk. They are empty if the field is
// no list of objects.
type detailPieces []map[string]any

// size returns the number of bytes of the texts in p.
func (p detailPieces) size() (bytes int) {
	for _, detail := range p {
		for _, value := range detail {
			text, _ := value.(string)
			bytes += len(text)
		}
	}
	return bytes
}

// UnmarshalJSON never fails: an oddity here is no reason to lose an answer.
func (p *detailPieces) UnmarshalJSON(data []byte) error {
	var raw []map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // the details go back as they came
	if d.Decode((*[]map[string]any)(p)) != nil || json.Unmarshal(data, &raw) != nil {
		*p = nil
	}
	for i, detail := range *p {
		for name, value := range detail {
			var text rawText
			if _, isText := value.(string); isText && json.Unmarshal(raw[i][name], &text) == nil {
				detail[name] = string(text)
			}
		}
	}
	return nil
}

// add adds the reasoning of one piece of the answer.
func (k *reasoningKeeper) add(text string, details []map[string]any) {
	switch k.form {
	case ReasoningContent:
		k.text.WriteString(text)
	case ReasoningDetails:
		for _, d := range details {
			k.addDetail(d)
		}
	}
}

// addDetail joins the pieces of one object: successive pieces with the same type and
// index.
func (k *reasoningKeeper) addDetail(piece map[string]any) {
	last := len(k.details) - 1
	if last < 0 || !k.details[last].goesOn(piece) {
		k.details = append(k.details, &reasoningDetail{fields: map[string]any{}, texts: map[string]*strings.Builder{}})
		last++
	}
	k.details[last].add(piece)
}

// goesOn reports whether piece is more of the object.
func (d *reasoningDetail) goesOn(piece map[string]any) bool {
	return reflect.DeepEqual(d.fields["type"], piece["type"]) && reflect.DeepEqual(d.fields["index"], piece["index"])
}

func (d *reasoningDetail) add(piece map[string]any) {
	for name, value := range piece {
		text, isText := value.(string)
		switch {
		case isText && (name == "text" || name == "summary"):
			if d.texts[name] == nil {
				d.texts[name] = &strings.Builder{}
			}
			d.texts[name].WriteString(text)
		case value != nil:
			d.fields[name] = value
		}
	}
}

// whole returns the object.
func (d *reasoningDetail) whole() map[string]any {
	out := maps.Clone(d.fields)
	for name, text := range d.texts {
		out[name] = joinHalves(text.String())
	}
	return out
}

// opaque returns the part to keep with a message and its calls, if there is something to be kept.
func (k *reasoningKeeper) opaque(from origin, calls map[string]keptCall) (backends.Opaque, bool) {
	kept := map[string]any{}
	if k.text.Len() > 0 {
		kept[string(ReasoningContent)] = joinHalves(k.text.String())
	}
	if len(k.details) > 0 {
		list := make([]map[string]any, len(k.details))
		for i, d := range k.details {
			list[i] = d.whole()
		}
		kept[ReasoningDetails] = list
	}
	for name, field := range map[string]extra{
		"extra_content": k.extras.ExtraContent, "provider_specific_fields": k.extras.ProviderFields, "thought_signature": k.extras.ThoughtSignature,
	} {
		if len(field) > 0 {
			kept[name] = field
		}
	}
	if len(calls) > 0 {
		kept["calls"] = calls
	}
	if len(kept) == 0 {
		return backends.Opaque{}, false
	}
	data, err := plain.JSON(kept)
	if err != nil {
		return backends.Opaque{}, false // what was decoded from JSON encodes again
	}
	return backends.Opaque{Provider: from.provider, Model: from.model, Data: data}, true
}

// The tags between which some models put their reasoning when their server does not
// part it from the text.
const (
	openTag  = "<think>"
	closeTag = "</think>"
	// maxLead is how much space may stand before the first.
	maxLead = 256
)

// tagSplitter parts reasoning in tags, or in a channel of gpt-oss, from the text that begins with it. It
// holds back what may become a tag or a mark. The zero tagSplitter lets everything through.
type tagSplitter struct {
	state   tagState
	held    string
	harmony harmony
}

type tagState int

const (
	noTags    tagState = iota // all is text
	atStart                   // only space has come, or the beginning of the tag
	inTags                    // reasoning
	afterTags                 // the space before the text
	inHarmony                 // messages of gpt-oss with their marks
)

// split takes the next piece, and returns the reasoning and the text that are certain by now.
func (s *tagSplitter) split(piece string) (reasoning, text string) {
	s.held += piece
	if s.state == atStart {
		s.begin()
	}
	if s.state == inHarmony {
		piece, s.held = s.held, ""
		return s.harmony.split(piece)
	}
	if s.state == inTags {
		reasoning = s.inside()
	}
	if s.state == afterTags {
		if s.held = strings.TrimLeft(s.held, " \t\r\n"); s.held != "" {
			s.state = noTags
		}
	}
	if s.state == noTags {
		text, s.held = s.held, ""
	}
	return reasoning, text
}

// begin looks whether the text begins with the tag, or with a mark of gpt-oss.
func (s *tagSplitter) begin() {
	start := strings.TrimLeft(s.held, " \t\r\n")
	switch {
	case strings.HasPrefix(start, openTag):
		s.state, s.held = inTags, start[len(openTag):]
	case strings.HasPrefix(start, startMark), strings.HasPrefix(start, channelMark):
		s.state, s.held = inHarmony, start
	case !beginsMark(start, append(startMarks(), openTag)), len(s.held) > maxLead:
		s.state = noTags
	}
}

// inside returns the reasoning that is known to be some.
func (s *tagSplitter) inside() string {
	if before, after, closed := strings.Cut(s.held, closeTag); closed {
		s.state, s.held = afterTags, after
		return before
	}
	safe := len(s.held)
	for n := min(len(closeTag)-1, len(s.held)); n > 0; n-- {
		if strings.HasSuffix(s.held, closeTag[:n]) {
			safe = len(s.held) - n
			break
		}
	}
	out := s.held[:safe]
	s.held = s.held[safe:]
	return out
}

// end returns what was held back.
func (s *tagSplitter) end() (reasoning, text string) {
	if s.state == inHarmony {
		return s.harmony.end()
	}
	held := s.held
	s.held = ""
	if s.state == inTags {
		return held, ""
	}
	return "", held
}
