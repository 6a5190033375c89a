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
	{"tests", "tests/arch", "tests/faults", "tests/keys", "tests/judges", "tests/clients", "tests/mcpservers", "tests/wheel", "tests/live", "tests/cross", "tests/fixtures", "tests/bench", "tests/bench/peers", "tests/attack", "tests/streams"},
	{"tools/release", "tools/deploy"}, // a module of its own: no program has it
	{"cmd/massgen", "temporal/cmd/massgen-temporal"},
	{"cmd/massgen/app", "temporal/engine", "examples/weather"},
	{"cmd/massgen/app/talk", "cmd/massgen/app/serve", "cmd/massgen/app/check"},
	{"cmd/massgen/app/sessions", "cmd/massgen/app/inputs", "cmd/massgen/app/compare"},
	{"cmd/massgen/app/program"},
	{"cmd/massgen/app/archive"},
	{"cmd/massgen/app/cmdline"},
	{"cmd/massgen/app/wording"},
	{"cmd/massgen/tui", "cmd/massgen/server"},
	{"."},
	{"internal/setup/panels", "cmd/massgen/internal/inspect", "cmd/massgen/internal/findings", "cmd/massgen/internal/logtree"},
	{"internal/setup/sidecalls", "internal/setup/toolbox"},
	{"internal/storage/store", "internal/tools/pytools"},
	{"coordinator", "agents/conversation", "internal/tools/mcp", "cmd/massgen/internal/picture", "cmd/massgen/internal/signs", "cmd/massgen/internal/failures", "internal/setup/telemetry"},
	{"internal/tools/workspace", "internal/tools/tasks", "internal/coordination/driver", "coordinator/report"},
	{"agents", "internal/coordination/turn", "sessions/sqlite", "tests/storetest", "temporal/postgres", "tests/limitertest"},
	{"internal/storage/sqlstore", "internal/models/providers"},
	{
		"internal/coordination/step", "contextbuild", "sessions", "internal/coordination/topic", "debugbackend", "configs", "internal/tools/grants",
		"backends/openai", "backends/anthropic", "backends/gemini", "tests/backendtest",
		"internal/models/retry",
	},
	{"internal/models/toolfit"},
	{"internal/coordination/effect"},
	{
		"internal/models/wire", "internal/models/prices", "internal/models/questions", "internal/coordination/policy", "internal/tools/permission", "internal/models/attach",
		"internal/tools/workspace/confine", "internal/tools/workspace/snapshot",
	},
	{"internal/system/health", "backends", "internal/coordination/kernel", "internal/coordination/budget", "internal/tools/workspace/rootfs", "cmd/massgen/internal/markdown", "internal/tools/schema", "internal/tools/textcall"},
	{"internal/system/logs", "internal/system/blob", "internal/system/secrets", "internal/system/charset", "cmd/massgen/internal/colour", "internal/system/child", "internal/system/filelock", "internal/system/wholefile", "internal/system/tty", "internal/coordination/election", "internal/coordination/draw", "internal/coordination/evidence", "tests/leaks", "tests/silent", "tests/described"},
	{"internal/system/metrics", "internal/system/plain", "internal/system/sleep", "internal/system/sse", "internal/models/finish", "internal/system/httpclient", "internal/system/heavy", "tests/linear"},
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

// rooms are the folders of internal/, bottom up (DESIGN §3). A package in a room imports only from
// its own room and from those below it.
var rooms = []string{"system", "coordination", "models", "tools", "storage", "setup"}

// room returns the place of a folder below internal/ in rooms, -1 if its room is not there. inRoom is
// false for any other folder.
func room(dir string) (place int, inRoom bool) {
	rest, inRoom := strings.CutPrefix(dir, "internal/")
	name, _, _ := strings.Cut(rest, "/")
	return slices.Index(rooms, name), inRoom
}

func checkRooms(t *tree) []string {
	var found []string
	for _, s := range t.code {
		own, inRoom := room(s.dir)
		if !inRoom {
			continue
		}
		if own < 0 {
			found = append(found, fmt.Sprintf("%s: package %s is in no room of internal", s.path, s.dir))
			continue
		}
		for spec, p := range s.imports() {
			dir, _ := localDir(p)
			if other, _ := room(dir); other > own {
				found = append(found, fmt.Sprintf("%s: %s must not import %s: the room %s is above %s", t.at(spec), s.dir, dir, rooms[other], rooms[own]))
			}
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
	"backends/openai": {"internal/models/providers"}, "backends/anthropic": {"internal/models/providers"}, "backends/gemini": {"internal/models/providers"},
	"debugbackend": {".", "cmd/massgen/app/cmdline", "cmd/massgen/app/archive", "cmd/massgen/app/inputs", "cmd/massgen/app/talk", "internal/setup/panels", "internal/models/providers", "cmd/massgen/internal/inspect", "cmd/massgen/server"},
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
	"github.com/modelcontextprotocol/go-sdk": {"internal/tools/mcp", "cmd/massgen/server"}, // its client, and its server
	"github.com/google/jsonschema-go":        {"agents", "internal/tools/schema"},
	"modernc.org/sqlite":                     {"sessions/sqlite"},
	"github.com/gofrs/flock":                 {"internal/system/filelock", "internal/storage/store"},
	"github.com/jackc/pgx/v5":                {"temporal/postgres"},
	"go.temporal.io/sdk":                     {"temporal/engine"},
	"go.temporal.io/api":                     {"temporal/engine"},
	"google.golang.org/grpc":                 {"temporal/engine"}, // which logs messages that are too large
	"google.golang.org/protobuf":             {"temporal/engine"},
	"github.com/tiktoken-go/tokenizer":       {"internal/models/prices"},
	"github.com/segmentio/encoding":          {"internal/system/plain"},
	"github.com/cenkalti/backoff/v5":         {"internal/models/retry", "sessions"},
	"github.com/sony/gobreaker/v2":           {"internal/models/retry"},
	"golang.org/x/image":                     {"internal/models/attach"},
	"golang.org/x/time":                      {"internal/models/retry"},
	// Each room of commands describes its flags.
	"github.com/urfave/cli/v2":            {"cmd/massgen/app", "cmd/massgen/app/cmdline", "cmd/massgen/app/archive", "cmd/massgen/app/program", "cmd/massgen/app/sessions", "cmd/massgen/app/inputs", "cmd/massgen/app/serve", "cmd/massgen/app/compare", "cmd/massgen/app/check"},
	"github.com/joho/godotenv":            {"configs"},
	"golang.org/x/term":                   {"cmd/massgen/app/cmdline", "cmd/massgen/app/inputs", "cmd/massgen/app/talk"},
	"github.com/muesli/cancelreader":      {"cmd/massgen/app/talk"},
	"charm.land/bubbletea/v2":             {"cmd/massgen/tui", "cmd/massgen/server"},
	"github.com/atotto/clipboard":         {"cmd/massgen/tui"},
	"charm.land/bubbles/v2":               {"cmd/massgen/tui", "cmd/massgen/server"},
	"charm.land/lipgloss/v2":              {"cmd/massgen/tui", "cmd/massgen/server"},
	"github.com/russross/blackfriday/v2":  {"cmd/massgen/internal/markdown"},
	"github.com/charmbracelet/x/ansi":     {"cmd/massgen/tui", "cmd/massgen/app/talk", "cmd/massgen/internal/markdown"},
	"golang.org/x/sys":                    {"tests/linear", "internal/system/child", "internal/tools/workspace", "internal/storage/store", "internal/system/tty"},
	"golang.org/x/sync":                   {"coordinator", "internal/system/heavy", "tests/backendtest"},
	"gopkg.in/yaml.v3":                    {"configs", "debugbackend", "internal/tools/permission", "tests/described"},
	"github.com/landlock-lsm/go-landlock": {"internal/tools/workspace"},
	"github.com/google/go-cmp":            {"tests/backendtest", "tests/storetest"},
	"github.com/cockroachdb/datadriven":   {"tests/backendtest"},
	"pgregory.net/rapid":                  {"tests/storetest"},
	"go.uber.org/goleak":                  {"tests/leaks"},

	"github.com/goreleaser/nfpm/v2":            {"tools/release"},
	"github.com/google/go-containerregistry":   {"tools/release"},
	"github.com/Masterminds/semver/v3":         {"tools/release"},
	"golang.org/x/crypto/x509roots/fallback":   {"tools/release"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"tests/described", "tests/judges", "tests/clients"},
}

func checkThirdParty(t *tree) []string {
	var found []string
	for _, s := range t.code {
		if s.test {
			continue
		}
		for spec, p := range s.imports() {
			if !standard(p) && !inside(p, module) && !confinedTo(p, s.dir) {
				found = append(found, fmt.Sprintf("%s: %s must not import %s", t.at(spec), s.dir, p))
			}
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
