package arch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Patterns are spelled so that they do not find themselves.
var (
	toDoPattern = regexp.MustCompile(`\b(TOD[O]|FIXM[E]|XX[X])\b`)
	hostPattern = regexp.MustCompile(
		`/wor[k]/(main|shared|steering|[.]library|[.]mirror)|/tm[p]/bash_jobs|/roo[t]/|prox[y][.]golang|su[m][.]golang` +
			`|registr[y][.]npm|pyp[i][.]org|files[.]pythonhoste[d]|de[b][.]debian|stati[c][.]crates|repo[.]mave[n]`)
	fencePattern = regexp.MustCompile("(?ms)^```.*?^```")
	linkPattern  = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)\s]*)?\)`)
	rowPattern   = regexp.MustCompile(`^\|(.+)\|$`)
	codePattern  = regexp.MustCompile("`([^`]+)`")
	testPattern  = regexp.MustCompile("`([^`: ]+_test\\.go)`(?: `?((?:Test|Fuzz|Benchmark|Example)\\w*)`?)?")
)

const roughEdges = "docs/rough_edges.md"

// checkToDo finds marks of unfinished work whose file the list of rough edges
// does not name.
func checkToDo(t *tree) []string {
	regrets := t.read(roughEdges)
	var found []string
	for _, s := range t.code {
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				if toDoPattern.MatchString(c.Text) && !strings.Contains(regrets, s.path) {
					found = append(found, fmt.Sprintf("%s: unfinished work that %s does not name", t.at(c), roughEdges))
				}
			}
		}
	}
	return found
}

// checkHosts finds paths of one machine and hosts of package registries.
func checkHosts(t *tree) []string {
	var found []string
	for _, p := range t.files {
		text := t.read(p)
		if strings.Contains(text, "\x00") || path.Base(p) == "go.sum" {
			continue
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if m := hostPattern.FindString(line); m != "" {
				found = append(found, fmt.Sprintf("%s:%d: names %s", p, n, m))
			}
		}
	}
	return found
}

// checkLinks finds links to files that are not there, in what people read but for code.
func checkLinks(t *tree) []string {
	var found []string
	for _, p := range t.files {
		if path.Ext(p) != ".md" {
			continue
		}
		for _, m := range linkPattern.FindAllStringSubmatch(fencePattern.ReplaceAllString(t.read(p), ""), -1) {
			if target := m[1]; !strings.Contains(target, ":") && !t.has(path.Join(path.Dir(p), target)) {
				found = append(found, fmt.Sprintf("%s: links to %s, which is not there", p, target))
			}
		}
	}
	return found
}

const seeds = "docs/seeds.md"

// checkSeeds holds the table of the seeds' features to what is there. A row says
// feature, seed, where, test; the last cell names tests as `FILE` `NAME`, or says
// "not yet".
func checkSeeds(t *tree) []string {
	var found []string
	rows := 0
	n := 0
	for line := range strings.Lines(t.read(seeds)) {
		n++
		m := rowPattern.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasPrefix(m[1], " ---") || strings.HasPrefix(m[1], " Feature") {
			continue
		}
		rows++
		for _, fault := range seedRow(t, strings.Split(m[1], "|")) {
			found = append(found, fmt.Sprintf("%s:%d: %s", seeds, n, fault))
		}
	}
	if rows == 0 {
		found = append(found, seeds+": has no rows")
	}
	return found
}

func seedRow(t *tree, cells []string) []string {
	if len(cells) != 4 {
		return []string{fmt.Sprintf("has %d cells, not 4", len(cells))}
	}
	var faults []string
	for _, m := range codePattern.FindAllStringSubmatch(cells[2]+cells[3], -1) {
		if place := m[1]; strings.Contains(place, "/") && !strings.ContainsAny(place, " *:") && !t.has(place) {
			faults = append(faults, place+" is not there")
		}
	}
	last := cells[3]
	tests := testPattern.FindAllStringSubmatch(last, -1)
	if len(tests) == 0 && !strings.Contains(last, "not yet") {
		faults = append(faults, "names neither a test nor \"not yet\"")
	}
	for _, m := range tests {
		if file, name := m[1], m[2]; name == "" || !strings.Contains(t.read(file), "func "+name+"(") {
			faults = append(faults, fmt.Sprintf("there is no test %q in %s", name, file))
		}
	}
	return faults
}
