// Package blob names texts that are stored by their content.
package blob

// Ref names a text by its content, wherever it is stored.
type Ref struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}
