package pytools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/workspace"
	"github.com/massgen/massgen/tests/leaks"
)

// TestMain is also the guard of the helpers, and their fence.
func TestMain(m *testing.M) {
	workspace.Launcher()
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
	leaks.Main(m)
}

// warnings are those of a helper. It is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

// python is the machine's own.
var python = sync.OnceValues(func() (Python, error) { return Find(context.Background()) })

// options are for a helper with functions of a file of this source, in a folder that has nothing else.
func options(t *testing.T, source string, functions ...string) (Options, *warnings) {
	t.Helper()
	found, err := python()
	if err != nil {
		t.Fatal(err)
	}
	launcher, err := mcp.Launcher()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "tools.py")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	warned := &warnings{}
	o := Options{
		Python: found, Name: "custom_tools", Folder: t.TempDir(), CallTimeout: time.Minute,
		Agent: configs.Agent{ID: "builder", Backend: configs.Backend{Type: "openai", Model: "m"}},
		MCP:   mcp.Options{Launcher: launcher, Warn: warned.add, Log: func(_, line string) { t.Log(line) }},
	}
	for _, function := range functions {
		o.Tools = append(o.Tools, configs.CustomTool{Name: configs.CustomToolPrefix + function, Path: path, Function: function})
	}
	return o, warned
}

// start starts a helper that ends with the test.
func start(t *testing.T, o Options) *Helper {
	t.Helper()
	h, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// call calls a function of a helper.
func call(ctx context.Context, t *testing.T, h *Helper, function, arguments string) (string, error) {
	t.Helper()
	for _, tool := range h.Tools() {
		if tool.Definition().Name == configs.CustomToolPrefix+function {
			return tool.Call(ctx, arguments)
		}
	}
	t.Fatalf("there is no tool %s among %d", function, len(h.Tools()))
	return "", nil
}

// TestSchemas shows what models are told of functions, by their hints and docstrings. The file has the functions
// that it names with "tools".
func TestSchemas(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "schemas"), func(t *testing.T, d *datadriven.TestData) string {
		var names []string
		for _, arg := range d.CmdArgs {
			names = append(names, arg.Key)
		}
		o, warned := options(t, d.Input, names...)
		h := start(t, o)
		var out strings.Builder
		for _, tool := range h.Tools() {
			definition := tool.Definition()
			var schema bytes.Buffer
			if err := json.Indent(&schema, definition.Schema, "", " "); err != nil {
				t.Fatal(err)
			}
			out.WriteString(definition.Name + ": " + strings.ReplaceAll(definition.Description, "\n", "⏎") + "\n" + oneLineEach(schema.String()) + "\n")
		}
		for _, text := range warned.all() {
			out.WriteString("warning: " + text + "\n")
		}
		return out.String()
	})
}

// oneLineEach returns a schema with a line for each argument.
func oneLineEach(schema string) string {
	var out strings.Builder
	for line := range strings.Lines(schema) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent <= 2 && out.Len() > 0 && !strings.HasPrefix(strings.TrimSpace(line), "}") && !strings.HasPrefix(strings.TrimSpace(line), "]") {
			out.WriteString("\n" + strings.Repeat(" ", indent))
		}
		out.WriteString(strings.TrimSpace(line))
	}
	return out.String()
}

const friendly = `
import asyncio, json, os
from massgen.tool import AudioContent, ExecutionResult, ImageContent, TextContent, context_params
from massgen.tool._result import ExecutionResult as Same
from massgen.tool._decorators import context_params as same_too

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

def plain(x: int, y: int = 2): return "x is %d, y is %d" % (x, y)
async def later(x: int):
    await asyncio.sleep(0)
    return Same(output_blocks=[TextContent(data="later "), TextContent(data=str(x))])
def steps(n: int):
    for i in range(n):
        yield ExecutionResult(output_blocks=[TextContent(data="step %d" % i)], is_log=True)
        yield ExecutionResult(output_blocks=[TextContent(data=str(i))])
async def later_steps(n: int):
    for i in range(n):
        yield ExecutionResult(output_blocks=[TextContent(data=str(i))])
def as_json(): return {"a": [1, None, "ü"]}
def nothing(): return None
def picture(): return ExecutionResult(output_blocks=[TextContent("see: "), ImageContent(data=PICTURE)])
def sound(): return ExecutionResult(output_blocks=[AudioContent(data="data:audio/wav;base64,UklGRg==")])
def address(): return ExecutionResult(output_blocks=[ImageContent(data="https://pictures.example/a.png")])
@context_params("agent_id", "messages", "model")
def who(question: str, agent_id: str, messages: list, model: str, agent_cwd: str = ""):
    return json.dumps([question, agent_id, messages, model, os.path.realpath(agent_cwd) == os.getcwd()])
def preset(x: int, secret: str, unit: str): return "%d %s %s" % (x, secret, unit)
def fails(): raise ValueError("no luck")
class Silent(Exception):
    def __str__(self): raise ValueError("nothing to say")
def fails_silently(): raise Silent()
def writes(): open("made.txt", "w").write("made"); return "written"
def sibling():
    import beside
    return beside.WORD
`

// TestResults are what models read of functions that return, yield and await.
func TestResults(t *testing.T) {
	names := []string{"plain", "later", "steps", "later_steps", "as_json", "nothing", "picture", "sound", "address", "who", "preset", "fails", "writes", "sibling", "fails_silently"}
	o, warned := options(t, friendly, names...)
	o.Tools[10].Presets = map[string]any{"secret": "hush"}
	o.Tools[10].Defaults = map[string]any{"unit": "m"}
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.Tools[0].Path), "beside.py"), []byte("WORD = 'found'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := start(t, o)
	for _, c := range []struct{ function, arguments, want, failure string }{
		{"plain", `{"x":1}`, "x is 1, y is 2", ""},
		{"plain", `{"x":1,"z":3}`, "", "Error: it has no parameter z; it has: x, y"},
		{"plain", `{}`, "", "Error: plain() missing 1 required positional argument: 'x'"},
		{"later", `{"x":7}`, "later 7", ""},
		{"steps", `{"n":3}`, "012", ""},
		{"later_steps", `{"n":3}`, "012", ""},
		{"as_json", `{}`, `{"a": [1, null, "ü"]}`, ""},
		{"nothing", ``, "The tool returned nothing.", ""},
		{"picture", `{}`, "see: \n[image, image/png, 70 bytes, not shown: it is not returned by a tool of an agent]", ""},
		{"sound", `{}`, "[audio, audio/wav, 4 bytes, not shown]", ""},
		{"address", `{}`, "https://pictures.example/a.png", ""},
		{"who", `{"question":"q"}`, `["q", "builder", [], "m", true]`, ""},
		{"who", `{"question":"q","agent_id":"another"}`, "", "Error: it has no parameter agent_id; it has: question"},
		{"preset", `{"x":1}`, "1 hush m", ""},
		{"preset", `{"x":1,"unit":"km"}`, "1 hush km", ""},
		{"preset", `{"x":1,"secret":"mine"}`, "", "Error: it has no parameter secret; it has: x, unit"},
		{"fails", `{}`, "", "Error: no luck"},
		{"fails_silently", `{}`, "", "Error: Silent"},
		{"writes", `{}`, "written", ""},
		{"sibling", `{}`, "found", ""},
	} {
		got, err := call(t.Context(), t, h, c.function, c.arguments)
		if got != c.want || failure(err) != c.failure {
			t.Errorf("%s(%s) = %q, %q; want %q, %q", c.function, c.arguments, got, failure(err), c.want, c.failure)
		}
	}
	if made, err := os.ReadFile(filepath.Join(o.Folder, "made.txt")); err != nil || string(made) != "made" {
		t.Errorf("the function wrote %q, %v", made, err)
	}
	if list := warned.all(); len(list) > 0 {
		t.Errorf("warnings: %q", list)
	}
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestFaultsOfFiles cost their own tools and one warning for each file.
func TestFaultsOfFiles(t *testing.T) {
	o, warned := options(t, "import no_such_module\ndef a(): pass\ndef b(): pass\n", "a", "b")
	dir := filepath.Dir(o.Tools[0].Path)
	for name, source := range map[string]string{"good": "def good(): return 'good'", "syntax": "def x(:", "leaves": "import sys; sys.exit(3)", "hides": "x = 1",
		"odd": "import enum, datetime\nclass Day(enum.Enum): FIRST = datetime.date(2026, 1, 2)\ndef odd(day: Day): pass"} {
		path := filepath.Join(dir, name+".py")
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Tools = append(o.Tools, configs.CustomTool{Name: configs.CustomToolPrefix + name, Path: path, Function: name})
	}
	o.Tools = append(o.Tools,
		configs.CustomTool{Name: configs.CustomToolPrefix + "gone", Path: filepath.Join(dir, "gone.py"), Function: "gone"},
		configs.CustomTool{Name: configs.CustomToolPrefix + "of_massgen", Function: "of_massgen"},
		configs.CustomTool{Name: configs.CustomToolPrefix + "also", Path: "massgen/tool/_basic/no_such_file.py", Function: "also"},
		configs.CustomTool{Name: configs.CustomToolPrefix + "preset", Path: filepath.Join(dir, "good.py"), Function: "good", Presets: map[string]any{"x": 1}},
	)
	h := start(t, o)
	if got, err := call(t.Context(), t, h, "good", ""); got != "good" || err != nil || len(h.Tools()) != 1 {
		t.Errorf("%q, %v, %d tools", got, err, len(h.Tools()))
	}
	said := warned.all()
	for _, want := range []string{
		"tools.py: it needs the module no_such_module, which " + o.Python.Program + " does not have: install it there; left out: a, b",
		"syntax.py: it does not load: SyntaxError: ", "leaves.py: it does not load: SystemExit: 3; left out: leaves", "hides.py: it has no function hides; left out: hides",
		"gone.py: there is no such file; left out: gone", "its package is not installed for " + o.Python.Program + ": of_massgen, also",
		"good.py: it has no parameter x; left out: preset", "odd.py: the schema of its parameters has values that are no JSON; left out: odd",
	} {
		if !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("no warning has %q", want)
		}
	}
	if len(said) != 8 {
		t.Errorf("%d warnings: %q", len(said), said)
	}
}

// TestManyFilesAndLongTexts: neither the files beside a function nor its agent's text have to fit into an argument
// or a variable.
func TestManyFilesAndLongTexts(t *testing.T) {
	o, _ := options(t, "from massgen.tool import context_params\n@context_params('agent_system_message')\ndef length(agent_system_message): return len(agent_system_message)\n", "length")
	o.Agent.SystemMessage = strings.Repeat("x", 300_000)
	dir := filepath.Dir(o.Tools[0].Path)
	for i := range 1500 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%0120d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := call(t.Context(), t, start(t, o), "length", `{}`); got != "300000" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
