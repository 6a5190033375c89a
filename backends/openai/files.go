package openai

import (
	"encoding/base64"
	"errors"
	"fmt"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
)

// pdfType is the one kind of document that these APIs take as a file.
const pdfType = "application/pdf"

// fileContent is a part of a chat message with a document, which the library does not have.
type fileContent struct {
	Type string `json:"type"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// Takes reports whether a model takes images and PDFs, and how many bytes an image may have, 0 if
// the service says nothing. A PDF goes to models that read its pages as images.
func (d Dialect) Takes(model string) (images, pdfs bool, maxImage int) {
	l := d.limits(model)
	return !l.NoImages, !l.NoImages && !l.NoPDF, l.MaxImage
}

// checkFile refuses a file that cannot be sent.
func (e encoder) checkFile(role backends.Role, f backends.File) error {
	images, pdfs, _ := e.dialect.Takes(e.model)
	switch {
	case role != backends.RoleUser:
		return fmt.Errorf("a file in a message of role %s cannot be sent", role)
	case f.MediaType == pdfType && !pdfs:
		return fmt.Errorf("%s cannot be sent to %s, which takes no PDF", f.Name, e.model)
	case f.MediaType != pdfType && !images:
		return fmt.Errorf("%s cannot be sent to %s, which takes no images", f.Name, e.model)
	case len(f.Data) == 0:
		return errors.New(f.Name + " was not read")
	}
	return nil
}

func dataURL(f backends.File) string {
	return "data:" + f.MediaType + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
}

// chatFile is a file in a chat message.
func chatFile(f backends.File) any {
	if f.MediaType != pdfType {
		return goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeImageURL, ImageURL: &goopenai.ChatMessageImageURL{URL: dataURL(f)}}
	}
	out := fileContent{Type: "file"}
	out.File.Name, out.File.Data = f.Name, dataURL(f)
	return out
}

// itemFile is a file in a message or a tool's result of the Responses API.
func itemFile(f backends.File) any {
	if f.MediaType != pdfType {
		return goopenai.ResponseInputImage{Type: "input_image", ImageURL: dataURL(f), Detail: "auto"}
	}
	return goopenai.ResponseInputFile{Type: "input_file", Filename: f.Name, FileData: dataURL(f)}
}

// returnedParts are the pictures that a tool returned, in a message that follows its result.
func (e encoder) returnedParts(r backends.ToolResult) ([]any, error) {
	if len(r.Files) == 0 {
		return nil, nil
	}
	parts := []any{goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: "[returned by the tool " + r.Name + "]"}}
	for _, f := range r.Files {
		if err := e.checkFile(backends.RoleUser, f); err != nil {
			return nil, err
		}
		parts = append(parts, chatFile(f))
	}
	return parts, nil
}

// itemOutput is what a tool returned: a text, or a list with its pictures.
func (e encoder) itemOutput(r backends.ToolResult) (any, error) {
	if len(r.Files) == 0 {
		return r.Content, nil
	}
	out := []any{goopenai.ResponseInputText{Type: "input_text", Text: r.Content}}
	for _, f := range r.Files {
		if err := e.checkFile(backends.RoleUser, f); err != nil {
			return nil, err
		}
		out = append(out, itemFile(f))
	}
	return out, nil
}
