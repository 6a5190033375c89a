// Package arch keeps the project's rules of architecture: what may import what,
// what is pure, how large things grow, what is documented. Each rule is a
// function from a source tree to its findings; TestProject runs all of them on
// the project, and TestEachRuleCanFail on one small bad tree per rule in testdata.
package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// rules are the checks by name. A finding starts with file:line where there is
// one.
var rules = map[string]func(*tree) []string{
	"layers":     checkLayers,
	"rooms":      checkRooms,
	"adapters":   checkAdapters,
	"clients":    checkClients,
	"thirdparty": checkThirdParty,
	"purity":     checkPurity,
	"sizes":      checkSizes,
	"state":      checkState,
	"errors":     checkErrors,
	"docs":       checkDocs,
	"channels":   checkChannels,
	"exports":    checkExports,
	"commands":   checkCommands,
	"names":      checkNames,
	"skips":      checkSkips,
	"todo":       checkToDo,
	"hosts":      checkHosts,
	"links":      checkLinks,
	"seeds":      checkSeeds,
	"streams":    checkStreams,
	"types":      checkTypes,
	"events":     checkEvents,
}

func TestProject(t *testing.T) {
	project, err := load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range rules {
		t.Run(name, func(t *testing.T) {
			for _, finding := range check(project) {
				t.Error(finding)
			}
		})
	}
	for _, question := range questions(project) {
		t.Log(question)
	}
}

// TestEachRuleCanFail runs each rule on its bad tree, testdata/RULE.txtar. The
// file "want" in it lists what must be found, and nothing else may be. A tilde in
// the archive is dropped, so that the archive itself keeps the rules of texts.
func TestEachRuleCanFail(t *testing.T) {
	for name, check := range rules {
		t.Run(name, func(t *testing.T) {
			bad, want := badTree(t, filepath.Join("testdata", name+".txtar"))
			got := check(bad)
			slices.Sort(got)
			if len(want) == 0 {
				t.Fatal("the bad tree wants no finding")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func badTree(t *testing.T, archive string) (*tree, []string) {
	t.Helper()
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse([]byte(strings.ReplaceAll(string(text), "~", "")))
	var want []string
	files := fstest.MapFS{}
	for _, f := range a.Files {
		if f.Name == "want" {
			want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		files[f.Name] = &fstest.MapFile{Data: f.Data, Mode: fs.ModePerm}
	}
	bad, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	return bad, want
}
