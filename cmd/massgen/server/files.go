package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/attach"
)

// contentPart is a part of a message's content, in the form of chat completions or of responses.
type contentPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	// ImageURL is an object with a url, or the url itself.
	ImageURL json.RawMessage `json:"image_url"`
	// A file of chat completions is an object; one of responses stands in the part itself.
	File filePart `json:"file"`
	filePart
}

// filePart is a file of a client, or its address.
type filePart struct {
	ID   string `json:"file_id"`
	URL  string `json:"file_url"`
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// read returns the file in a part. It fetches nothing.
func (p contentPart) read(place, role string) (backends.File, error) {
	refuse := func(format string, args ...any) (backends.File, error) {
		return backends.File{}, badRequest(place, place+" "+fmt.Sprintf(format, args...))
	}
	if role != roleUser {
		return refuse("is a file in a message of the role %s: only the user's may have files", role)
	}
	name, url := "image", ""
	if p.Type == "file" || p.Type == "input_file" {
		file := p.filePart
		if p.Type == "file" {
			file = p.File
		}
		if file.ID != "" {
			return refuse("names a file by its file_id, and this server keeps no files: send file_data")
		}
		name, url = file.Name, file.Data
		if url == "" {
			url = file.URL
		}
		if name == "" {
			name = "file"
		}
	} else if json.Unmarshal(p.ImageURL, &url) != nil {
		var inner struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(p.ImageURL, &inner) != nil {
			return refuse("has no image_url")
		}
		url = inner.URL
	}
	if url == "" {
		return refuse("has no data")
	}
	file, err := attach.FromURL(name, url)
	if err != nil {
		return refuse("cannot be taken: %v", err)
	}
	return file, nil
}

// filesOf reads the files beside a question.
func filesOf(parts []filePart) (files []backends.File, err error) {
	for i, p := range parts {
		file, err := contentPart{Type: "file", File: p}.read(fmt.Sprintf("files[%d]", i), roleUser)
		var refused refusal
		if errors.As(err, &refused) && p.Name != "" { // a person knows the file by its name
			refused.message = shortened(p.Name) + strings.TrimPrefix(refused.message, refused.param)
			return nil, refused
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
