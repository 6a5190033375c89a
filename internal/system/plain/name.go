package plain

import "regexp"

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// Name returns a text that every system and service accepts in a name: any character except ASCII letters
// and digits, "_" and "-" becomes "_".
func Name(text string) string { return notInName.ReplaceAllLiteralString(text, "_") }
