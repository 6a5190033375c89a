package backendtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/blob"
)

// thinkingRequest is a request whose answer may have the thoughts of a model that always thinks.
func (s Live) thinkingRequest(question string, parts ...backends.Part) backends.Request {
	req := s.request(question)
	most := thinkingTokens
	req.Params.MaxTokens = &most
	asked := &req.Messages[len(req.Messages)-1]
	asked.Parts = append(parts, asked.Parts...)
	return req
}

// liveSchema has an answer fit a JSON Schema.
func liveSchema(t *testing.T, s Live) {
	req := s.thinkingRequest("Name the capital of France and its country as JSON with the fields city and country.")
	req.Schema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string"}},` +
		`"required":["city","country"],"additionalProperties":false}`)
	text := s.mustCall(t, req).Message.Text()
	var place struct{ City, Country *string }
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&place); err != nil || place.City == nil || place.Country == nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

// liveEfforts has the service take each word for the effort.
func liveEfforts(t *testing.T, s Live) {
	for _, effort := range s.Efforts {
		t.Run(effort, func(t *testing.T) {
			req := s.request("Reply with the word: pong")
			req.Params.MaxTokens, req.Params.ReasoningEffort = nil, effort
			if s.mustCall(t, req).Finish == "" {
				t.Error("the answer has no finish reason")
			}
		})
	}
}

// redPicture is a picture that is red all over.
func redPicture(t *testing.T) backends.File {
	t.Helper()
	picture := image.NewNRGBA(image.Rect(0, 0, 128, 128))
	for i := range 128 * 128 {
		picture.Set(i%128, i/128, color.NRGBA{R: 230, A: 255})
	}
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		t.Fatal(err)
	}
	return backends.File{File: blob.File{MediaType: "image/png", Name: "colour.png"}, Data: data.Bytes()}
}

func livePicture(t *testing.T, s Live) {
	s.mustSay(t, s.thinkingRequest("Which colour has this picture? Answer with one word.", redPicture(t)), "red")
}

// mustSay makes a request whose answer has a word.
func (s Live) mustSay(t *testing.T, req backends.Request, word string) {
	t.Helper()
	if said := s.mustCall(t, req).Message.Text(); !strings.Contains(strings.ToLower(said), word) {
		t.Errorf("the answer %q does not have %q", said, word)
	}
}

func livePDF(t *testing.T, s Live) {
	file := backends.File{File: blob.File{MediaType: "application/pdf", Name: "number.pdf"}, Data: onePage("The number is 4711.")}
	s.mustSay(t, s.thinkingRequest("Which number does the document state? Answer with the number alone.", file), "4711")
}

// onePage is a PDF of one page with a line of text.
func onePage(text string) []byte {
	content := "BT /F1 24 Tf 72 700 Td (" + text + ") Tj ET"
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var places []int
	for i, body := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	} {
		places = append(places, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(places)+1)
	for _, place := range places {
		fmt.Fprintf(&out, "%010d 00000 n \n", place)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(places)+1, table)
	return out.Bytes()
}

// liveToolPicture has a tool return a picture.
func liveToolPicture(t *testing.T, s Live) {
	camera := backends.Tool{Name: "camera", Description: "Takes a picture.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	req := s.forced("Call the camera, then tell me the colour of its picture in one word.", camera)
	most := thinkingTokens
	req.Params.MaxTokens = &most
	first := stored(t, s.mustCall(t, req).Message)
	results := backends.Message{Role: backends.RoleTool}
	for _, c := range first.ToolCalls() {
		results.Parts = append(results.Parts, backends.ToolResult{CallID: c.ID, Name: c.Name, Content: "Here it is.", Files: []backends.File{redPicture(t)}})
	}
	if len(results.Parts) == 0 {
		t.Fatalf("the camera was not called: %q", first.Text())
	}
	req.Messages = append(req.Messages, first, results)
	req.Params.ExtraBody = nil
	s.mustSay(t, req, "red")
}
