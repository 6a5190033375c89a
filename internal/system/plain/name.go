package plain

import "regexp"

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// Name is a text as every system and service takes it in a name: what is no ASCII letter
// or digit, "_" or "-" becomes "_".
func Name(text string) string { return notInName.ReplaceAllLiteralString(text, "_") }
