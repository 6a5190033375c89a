package arch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

const streams = "docs/streams.md"

// namedTest is `FILE` *NAME*, below an adapter's folder.
var namedTest = regexp.MustCompile("`([^`]+)` \\*([^*]+)\\*")

// checkStreams holds the table of stray streams to the tests that are there. Its
// heading names the adapters' folders, or one of several folders of streams that an
// adapter has; below one, a cell names the tests that show a row, or says after a dash
// why there is none.
func checkStreams(t *tree) []string {
	var found []string
	var folders []string
	n := 0
	for line := range strings.Lines(t.read(streams)) {
		n++
		m := rowPattern.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasPrefix(m[1], " ---") {
			continue
		}
		cells := strings.Split(m[1], "|")
		if folders == nil {
			folders = adapterFolders(cells)
			continue
		}
		for _, fault := range streamsRow(t, folders, cells) {
			found = append(found, fmt.Sprintf("%s:%d: %s", streams, n, fault))
		}
	}
	if len(folders) == 0 {
		found = append(found, streams+": has no table")
	}
	return found
}

// adapterFolders reads the heading: fault, what massgen does, and the adapters.
func adapterFolders(heading []string) []string {
	folders := []string{}
	for _, cell := range heading[min(2, len(heading)):] {
		folders = append(folders, strings.Trim(cell, " `"))
	}
	return folders
}

func streamsRow(t *tree, folders, cells []string) []string {
	if len(cells) != len(folders)+2 {
		return []string{fmt.Sprintf("has %d cells, not %d", len(cells), len(folders)+2)}
	}
	var faults []string
	for i, folder := range folders {
		cell := strings.TrimSpace(cells[i+2])
		tests := namedTest.FindAllStringSubmatch(cell, -1)
		if len(tests) == 0 && !strings.HasPrefix(cell, "–") {
			faults = append(faults, folder+": names neither a test nor, after a dash, why there is none")
		}
		for _, m := range tests {
			if !hasCase(t, folder, m[1], m[2]) {
				faults = append(faults, fmt.Sprintf("%s: there is no %q in %s", folder, m[2], m[1]))
			}
		}
	}
	return faults
}

// hasCase says whether a file of an adapter has a test: a Go function, or a case of
// a stream whose comment begins with the name.
func hasCase(t *tree, folder, file, name string) bool {
	folder, cases, ok := strings.Cut(folder, "/testdata/")
	if !ok {
		cases = "streams"
	}
	if strings.HasSuffix(file, "_test.go") {
		return strings.Contains(t.read(path.Join(folder, file)), "func "+name+"(")
	}
	comment := ""
	for line := range strings.Lines(t.read(path.Join(folder, "testdata", cases, file))) {
		if words, ok := strings.CutPrefix(line, "# "); ok {
			comment += strings.TrimSpace(words) + " "
			continue
		}
		if strings.HasPrefix(comment, name) {
			return true
		}
		comment = ""
	}
	return false
}
