package arch

import (
	"fmt"
	"slices"
	"strings"
)

// layers is DESIGN §3, top down: a package imports only from rows below its own.
// Tests may also import from their own row. A new package gets its place here
// and in DESIGN.md.
var layers = [][]string{
	{"tests", "tests/arch", "tests/faults", "tests/keys", "tests/judges", "tests/clients", "tests/mcpservers", "tests/live", "tests/cross", "tests/fixtures", "tests/bench", "tests/bench/peers", "tests/attack", "tests/streams"},
	{"cmd/massgen", "temporal/cmd/massgen-temporal"},
	{"cmd/massgen/app", "temporal/engine", "examples/weather"},
	{"cmd/massgen/tui", "cmd/massgen/server"},
	{"."},
	{"internal/panels", "internal/inspect"},
	{"internal/sidecalls", "internal/toolbox"},
	{"internal/providers", "internal/store"},
	{"coordinator", "agents/conversation", "internal/mcp", "internal/picture", "internal/telemetry"},
	{"internal/workspace", "internal/driver", "coordinator/report"},
	{"agents", "internal/turn", "sessions/sqlite", "sessions/storetest", "temporal/postgres", "internal/retry/limitertest"},
	{"internal/sqlstore"},
	{
		"internal/machine", "contextbuild", "sessions", "internal/topic", "debugbackend", "configs", "internal/grants",
		"backends/openai", "backends/anthropic", "backends/gemini", "backends/backendtest",
		"internal/retry", "internal/fallback",
	},
	{
		"internal/wire", "internal/prices", "internal/tokens", "internal/policy", "internal/permission", "internal/attach",
		"internal/workspace/confine", "internal/workspace/snapshot",
	},
	{"backends", "internal/kernel", "internal/budget", "internal/workspace/rootfs", "internal/markdown", "internal/schema"},
	{"internal/blob", "internal/hosted", "internal/secrets", "internal/colour", "internal/child", "internal/filelock", "internal/wholefile", "tests/leaks", "tests/silent", "tests/described"},
	{"internal/plain", "internal/fastjson", "internal/stack", "internal/sleep", "internal/turnmeta", "internal/nos2a", "tests/linear"},
}

func row(dir string) int {
	return slices.IndexFunc(layers, func(dirs []string) bool { return slices.Contains(dirs, dir) })
}

func checkLayers(t *tree) []string {
	var found []string
	for _, s := range t.code {
		own := row(s.dir)
		if own < 0 {
			found = append(found, fmt.Sprintf("%s: package %s has no place in the layers", s.path, s.dir))
			continue
		}
		for spec, p := range s.imports() {
			dir, local := localDir(p)
			if !local || dir == s.dir {
				continue
			}
			if other := row(dir); other > own || s.test && other == own {
				continue
			}
			found = append(found, fmt.Sprintf("%s: %s must not import %s: imports go downward only", t.at(spec), s.dir, dir))
		}
	}
	return found
}

// localDir is the folder of a package of this module or the nested one; local is false for
// any other.
func localDir(importPath string) (dir string, local bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// adapters are the packages that only those may name which wire them, and tests: by adapter,
// the folders.
var adapters = map[string][]string{
	"backends/openai": {"internal/providers"}, "backends/anthropic": {"internal/providers"}, "backends/gemini": {"internal/providers"},
	"debugbackend": {".", "cmd/massgen/app", "internal/panels", "internal/providers", "internal/inspect", "cmd/massgen/server"},
}

func checkAdapters(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test {
			continue
		}
		for spec, p := range s.imports() {
			dir, local := localDir(p)
			if wiring, ok := adapters[dir]; local && ok && dir != s.dir && !slices.Contains(wiring, s.dir) {
				found = append(found, fmt.Sprintf("%s: %s names the adapter %s: only wiring and tests may", t.at(spec), s.dir, dir))
			}
		}
	}
	return found
}

// confined says which packages may import a module of others (DESIGN §9).
var confined = map[string][]string{
	"github.com/sashabaranov/go-openai":      {"backends/openai"},
	"github.com/anthropics/anthropic-sdk-go": {"backends/anthropic"},
	"google.golang.org/genai":                {"backends/gemini"},
	"google.golang.org/grpc":                 {"internal/nos2a"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/mcp", "cmd/massgen/server"}, // its client, and its server
	"github.com/google/jsonschema-go":        {"agents", "internal/mcp", "internal/schema"},
	"modernc.org/sqlite":                     {"sessions/sqlite"},
	"github.com/gofrs/flock":                 {"internal/filelock", "internal/store"},
	"github.com/jackc/pgx/v5":                {"temporal/postgres"},
	"go.temporal.io/sdk":                     {"temporal/engine"},
	"go.temporal.io/api":                     {"temporal/engine"},
	"github.com/tiktoken-go/tokenizer":       {"internal/tokens"},
	"github.com/segmentio/encoding":          {"internal/fastjson"},
	"github.com/cenkalti/backoff/v5":         {"internal/retry", "sessions"},
	"github.com/sony/gobreaker/v2":           {"internal/retry"},
	"golang.org/x/image":                     {"internal/attach"},
	"golang.org/x/net":                       {"internal/picture"},
	"golang.org/x/time":                      {"internal/retry"},
	"github.com/urfave/cli/v2":               {"cmd/massgen/app"},
	"github.com/joho/godotenv":               {"configs"},
	"golang.org/x/term":                      {"cmd/massgen/app"},
	"github.com/muesli/cancelreader":         {"cmd/massgen/app"},
	"charm.land/bubbletea/v2":                {"cmd/massgen/tui", "cmd/massgen/server"},
	"charm.land/bubbles/v2":                  {"cmd/massgen/tui", "cmd/massgen/server"},
	"charm.land/lipgloss/v2":                 {"cmd/massgen/tui", "cmd/massgen/server"},
	"github.com/russross/blackfriday/v2":     {"internal/markdown"},
	"github.com/charmbracelet/x/ansi":        {"cmd/massgen/tui", "cmd/massgen/app", "internal/markdown"},
	"golang.org/x/sys":                       {"tests/linear", "internal/child", "internal/workspace/confine", "internal/store", "cmd/massgen/app"},
	"golang.org/x/sync":                      {"coordinator", "backends/backendtest"},
	"gopkg.in/yaml.v3":                       {"configs", "debugbackend", "internal/grants", "tests/described"},
	"github.com/landlock-lsm/go-landlock":    {"internal/workspace/confine"},
	"github.com/google/go-cmp":               {"backends/backendtest", "sessions/storetest"},
	"github.com/cockroachdb/datadriven":      {"backends/backendtest"},
	"pgregory.net/rapid":                     {"sessions/storetest"},
	"go.uber.org/goleak":                     {"tests/leaks"},

	"github.com/santhosh-tekuri/jsonschema/v6": {"tests/described", "tests/judges", "tests/clients"},
}

// heavy are the packages that execute templates (DESIGN §9). To parse templates with
// text/template/parse is allowed.
var heavy = []string{"text/template", "html/template"}

func checkThirdParty(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test {
			continue
		}
		for spec, p := range s.imports() {
			if !slices.Contains(heavy, p) && (standard(p) || inside(p, module) || confinedTo(p, s.dir)) {
				continue
			}
			found = append(found, fmt.Sprintf("%s: %s must not import %s", t.at(spec), s.dir, p))
		}
	}
	return found
}

func confinedTo(importPath, dir string) bool {
	for m, dirs := range confined {
		if inside(importPath, m) {
			return slices.Contains(dirs, dir)
		}
	}
	return false
}
