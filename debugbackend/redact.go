package debugbackend

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// scrub masks the secrets in data.
func (o Options) scrub(data []byte) []byte {
	if o.Redact == nil || data == nil {
		return data
	}
	text := string(data)
	if masked := o.Redact(text); masked != text {
		return []byte(masked)
	}
	return data
}

// redacted returns the call with secrets masked in its bytes, which a file may hold in base64, and in
// its events, even if a secret is spread over several.
func (o Options) redacted(c Call) Call {
	if o.Redact == nil {
		return c
	}
	holdsPieces := o.holdsPieces(c.Raw) // before scrub, which may mask half a secret
	c.Body, c.Raw = o.scrub(c.Body), o.scrub(c.Raw)
	for i, body := range c.EarlierBodies {
		c.EarlierBodies[i] = o.scrub(body)
	}
	if holdsPieces {
		c.Raw = []byte(withheld)
	}
	c.Events = slices.Clone(c.Events)
	redactDeltas[backends.TextDelta](o, c.Events)
	redactDeltas[backends.ReasoningDelta](o, c.Events)
	c.Response = assemble(c.Events)
	return c
}

// redactDeltas masks the secrets in a text that came in pieces. If it holds one, the
// first piece becomes the whole text, and the others become empty.
func redactDeltas[D interface {
	backends.Event
	backends.TextDelta | backends.ReasoningDelta
}](o Options, events []seenEvent) {
	var whole strings.Builder
	var pieces []int
	for i, e := range events {
		if d, ok := e.Event.Event.(D); ok {
			whole.WriteString(backends.TextDelta(d).Text)
			pieces = append(pieces, i)
		}
	}
	masked := o.Redact(whole.String())
	if masked == whole.String() {
		return
	}
	for _, i := range pieces {
		events[i].Event.Event = D(backends.TextDelta{Text: masked})
		masked = ""
	}
}

const withheld = "[withheld: a secret stands in it, in pieces]"

// holdsPieces reports whether a response that is a stream of JSON holds a secret spread
// over several of its events. Such pieces are texts in the same place of each event, and
// masking each piece differs from masking them together.
func (o Options) holdsPieces(raw []byte) bool {
	places := map[string][]string{}
	for line := range bytes.Lines(raw) {
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		var event any
		if isData && json.Unmarshal(data, &event) == nil {
			collectTexts(places, "", event)
		}
	}
	for _, pieces := range places {
		whole := strings.Join(pieces, "")
		masked := o.Redact(whole)
		if masked == whole {
			continue
		}
		for i, piece := range pieces {
			pieces[i] = o.Redact(piece)
		}
		if strings.Join(pieces, "") != masked {
			return true
		}
	}
	return false
}

// collectTexts adds each text in a JSON value to the texts at the same place. All members of a list
// have one place.
func collectTexts(places map[string][]string, place string, value any) {
	switch value := value.(type) {
	case string:
		places[place] = append(places[place], value)
	case []any:
		for _, item := range value {
			collectTexts(places, place, item)
		}
	case map[string]any:
		for name, field := range value {
			collectTexts(places, place+"/"+name, field)
		}
	}
}
