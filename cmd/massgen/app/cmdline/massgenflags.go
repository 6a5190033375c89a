package cmdline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/system/plain"
)

// LogFlags say where the logs of a run are written, and what its watchers read.
type LogFlags struct {
	Dir          string
	None, Stream bool
	Inbox        string
	// Web starts the page of massgen serve beside the run, at WebHost and WebPort.
	Web              bool
	WebHost, WebPort string
}

// LogFolderVariable names the folder of the logs of --automation, as in MassGen.
const LogFolderVariable = "MASSGEN_LOG_BASE_DIR"

// InboxVariable names the folder of --inbox-dir with --automation.
const InboxVariable = "MASSGEN_RUNTIME_INBOX_DIR"

// Folder returns the folder of the logs that the flags or the environment name, "" for none.
func (f LogFlags) Folder(lookup func(name string) (value string, set bool)) string {
	if f.Dir != "" {
		return f.Dir
	}
	folder, _ := lookup(LogFolderVariable)
	return folder
}

func (f *LogFlags) flags() []cli.Flag {
	return []cli.Flag{
		TextFlag(output, "log-dir", &f.Dir, "write the logs of a run below `DIR`; --automation writes them below $"+LogFolderVariable+", else .massgen/massgen_logs"),
		SwitchFlag(output, "no-logs", &f.None, "with --automation: write no logs"),
		SwitchFlag(output, "stream-events", &f.Stream, "--automation that prints each event on standard output, as a line of JSON; its own lines go to standard error"),
		TextFlag(asking, "inbox-dir", &f.Inbox, "while a turn runs, add what the files msg_*.json in `DIR` say to its question; --automation also knows $"+InboxVariable),
		SwitchFlag(output, "web", &f.Web, "show the run on the page of massgen serve, too"),
		TextFlag(output, "web-port", &f.WebPort, "the `PORT` of that page; 8000 without it"),
		TextFlag(output, "web-host", &f.WebHost, "the `HOST` of that page; 127.0.0.1 without it"),
	}
}

// ModeFlags change the panel of a config for a run, as MassGen's flags do.
type ModeFlags struct {
	Quick      bool
	Single     string // the agent that is asked alone; FirstAgent for the first
	Context    string // ro, rw, read or write
	Criteria   string // the text for the agents
	PlainAt    bool
	Select     bool
	References []configs.ContextPath
}

// FirstAgent is the value of --single-agent without an id.
const FirstAgent = "*"

func (f *ModeFlags) flags() []cli.Flag {
	return []cli.Flag{
		SwitchFlag(asking, "quick", &f.Quick, "ask each agent once, without a vote; the first agent's answer that stands is the result"),
		&cli.StringFlag{Name: "single-agent", Category: asking, Action: func(_ *cli.Context, id string) error { f.Single = id; return nil }, Usage: "ask only the agent `ID` of the panel, its first one without ID"},
		&cli.StringFlag{Name: "cwd-context", Category: asking, Action: f.readContext, Usage: "show the current folder to the agents: `ro` to read, rw to write by the final answer, too"},
		&cli.StringFlag{Name: "eval-criteria", Category: asking, Action: f.readCriteria, Usage: "tell the agents the criteria in the JSON `FILE` by which answers are judged"},
		SwitchFlag(asking, "no-parse-at-references", &f.PlainAt, "take @path in a question as plain text; else the agents are shown an existing path"),
		SwitchFlag(asking, "select", &f.Select, "choose the panel from a list"),
	}
}

func (f *ModeFlags) readContext(_ *cli.Context, text string) error {
	if !slices.Contains([]string{"ro", "rw", "read", "write"}, text) {
		return fmt.Errorf("--cwd-context is %q: it is ro or rw", wording.Shortened(text, 40))
	}
	f.Context = text
	return nil
}

// readCriteria reads a list of criteria, each a text or an object.
func (f *ModeFlags) readCriteria(_ *cli.Context, file string) error {
	const mostBytes = 256 << 10
	data, err := readUpTo(file, mostBytes)
	if err != nil {
		return fmt.Errorf("--eval-criteria: %w", err)
	}
	type criterion struct {
		Text, Description, Name, Category string
		AntiPatterns                      []string `json:"anti_patterns"`
		VerifyBy                          string   `json:"verify_by"`
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		var of struct {
			Criteria []json.RawMessage `json:"criteria"`
		}
		if json.Unmarshal(data, &of) != nil || len(of.Criteria) == 0 {
			return fmt.Errorf("--eval-criteria: %s is no JSON list of criteria: %w", plain.Line(file), err)
		}
		list = of.Criteria
	}
	lines := []string{"The answers are judged by these criteria:"}
	for i, raw := range list {
		var c criterion
		if json.Unmarshal(raw, &c.Text) != nil {
			if err := json.Unmarshal(raw, &c); err != nil {
				return fmt.Errorf("--eval-criteria: criterion %d of %s: %w", i+1, plain.Line(file), err)
			}
		}
		for _, other := range []string{c.Description, c.Name} {
			if c.Text == "" {
				c.Text = other
			}
		}
		if strings.TrimSpace(c.Text) == "" {
			return fmt.Errorf("--eval-criteria: criterion %d of %s has no text", i+1, plain.Line(file))
		}
		line := fmt.Sprintf("%d. %s", i+1, c.Text)
		if c.Category != "" {
			line += " (" + c.Category + ")"
		}
		if len(c.AntiPatterns) > 0 {
			line += " Not: " + strings.Join(c.AntiPatterns, "; ") + "."
		}
		if c.VerifyBy != "" {
			line += " Verify by: " + c.VerifyBy
		}
		lines = append(lines, line)
	}
	f.Criteria = strings.Join(lines, "\n")
	return nil
}

// Apply changes a config by the flags.
func (f ModeFlags) Apply(c *configs.Config) error {
	if err := f.single(c); err != nil {
		return err
	}
	if f.Quick {
		c.Orchestrator.Rules.AskOnce()
	}
	if f.Criteria != "" {
		for i := range c.Agents {
			c.Agents[i].SystemMessage = strings.TrimLeft(c.Agents[i].SystemMessage+"\n\n"+f.Criteria, "\n")
		}
	}
	paths := slices.Clone(f.References)
	if f.Context != "" {
		paths = append(paths, configs.ContextPath{Path: ".", Write: f.Context == "rw" || f.Context == "write", At: "--cwd-context"})
	}
	for _, p := range paths {
		c.Show(p)
	}
	return nil
}

func (f ModeFlags) single(c *configs.Config) error {
	switch f.Single {
	case "":
		return nil
	case FirstAgent:
		c.Agents = c.Agents[:min(1, len(c.Agents))]
		return nil
	}
	for _, a := range c.Agents {
		if strings.EqualFold(a.ID, f.Single) {
			c.Agents = []configs.Agent{a}
			return nil
		}
	}
	return fmt.Errorf("--single-agent: the panel has no agent %s", wording.Shortened(plain.Line(f.Single), 40))
}

// Referenced returns a question without the @ before existing paths, with these paths. A path that ends in :w
// may be written to by the final answer.
func Referenced(question string) (text string, paths []configs.ContextPath) {
	var b strings.Builder
	rest := question
	for {
		at := strings.IndexByte(rest, '@')
		if at < 0 {
			return b.String() + rest, paths
		}
		b.WriteString(rest[:at])
		before := at == 0 && b.Len() == 0 || b.Len() > 0 && strings.ContainsRune(" \t\n(\"'", rune(b.String()[b.Len()-1]))
		word := rest[at+1:]
		if end := strings.IndexAny(word, " \t\n)\"',;!?"); end >= 0 {
			word = word[:end]
		}
		path, write := strings.CutSuffix(word, ":w")
		for path != "" && !exists(path) && strings.ContainsAny(path[len(path)-1:], ".:") { // the end of a sentence
			path = path[:len(path)-1]
		}
		if !before || path == "" || !exists(path) {
			b.WriteByte('@')
			rest = rest[at+1:]
			continue
		}
		paths = append(paths, configs.ContextPath{Path: path, Write: write, At: "@" + path})
		b.WriteString(path)
		rest = rest[at+1+len(path):]
		if write {
			rest = strings.TrimPrefix(rest, ":w")
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// silentFlags are flags of MassGen whose loss loses nothing.
func silentFlags() []cli.Flag {
	var list []cli.Flag
	for _, name := range []string{"no-browser", "skip-agent-selector", "no-session-registry"} {
		list = append(list, &cli.BoolFlag{Name: name, Hidden: true})
	}
	return append(list, &cli.StringFlag{Name: "display", Hidden: true})
}

// InPlaceOf returns what stands here in the place of a flag of MassGen, "" for other flags.
func InPlaceOf(flag string) string {
	const phases = "there is no planning phase here: ask for the plan, and go on with --continue"
	const config = "massgen init writes a config"
	switch flag {
	case "plan", "plan-depth", "plan-thoroughness", "plan-steps", "plan-chunks", "plan-and-execute", "execute-plan", "spec", "execute-spec":
		return phases
	case "broadcast":
		return "agents put no questions to each other here; /note adds to the question while a turn runs"
	case "checklist-criteria-preset":
		return "there are no presets of criteria here; --eval-criteria FILE tells the agents yours"
	case "personas":
		return "give the agents different system_messages in the config"
	case "coordination-mode":
		return "agents work on the same question here, and vote"
	case "fast":
		return "--quick asks each agent once; max_rounds in the config limits the rounds"
	case "step", "session-dir":
		return "a step of one agent is no run here; --single-agent asks one agent"
	case "web-review":
		return "the winner alone writes into a context path; permissions: in the config asks a person about each call"
	case "web-quickstart", "quickstart", "quickstart-agent", "headless", "generate-config", "config-agents", "config-backend", "config-model", "config-agent-id", "config-docker", "config-context-path", "init":
		return config
	case "setup":
		return "massgen doctor names the keys to set, in the environment or in .env"
	case "setup-docker":
		return "commands run behind the kernel's fence, without Docker"
	case "setup-skills":
		return "skills are not read here; put what they say into the agents' system_message"
	case "show-schema", "schema-backend", "with-examples":
		return "massgen config keys lists the keys, massgen config schema prints their JSON Schema"
	case "strict", "strict-validation", "skip-validation":
		return "a config is always validated; massgen --validate FILE --json lists its warnings"
	case "list-sessions":
		return "massgen sessions list"
	case "rate-limit":
		return "providers: in the config limits requests and tokens per minute"
	case "logfire":
		return "OTEL_EXPORTER_OTLP_ENDPOINT exports traces and metrics"
	case "save-streaming-buffers":
		return "--dump-inputs DIR writes every model call"
	case "textual-serve", "textual-serve-port":
		return "massgen serve has a page for browsers"
	}
	return ""
}

// ListenAddress returns where the page of --web listens.
func (f LogFlags) ListenAddress() (string, error) {
	host := cmp.Or(f.WebHost, "127.0.0.1")
	if strings.ContainsAny(host, "/ ") {
		return "", errors.New("--web-host names a host, such as 127.0.0.1")
	}
	return net.JoinHostPort(host, cmp.Or(f.WebPort, "8000")), nil
}
