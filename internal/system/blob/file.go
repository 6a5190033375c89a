package blob

// File names a picture or a document that is stored by its content.
type File struct {
	// Name is the file's own, without a folder.
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Content   Ref    `json:"content"`
	// Width and Height are a picture's, in pixels. Pages is about how many a PDF has.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
	Pages  int `json:"pages,omitempty"`
}
