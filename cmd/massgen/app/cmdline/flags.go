package cmdline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/charset"
	"github.com/massgen/massgen/internal/system/metrics"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/schema"
)

// Options are the values of the program's flags, in groups. The method flags of a group binds its flags.
type Options struct {
	Panel   PanelFlags
	Attach  attachFlag
	Session SessionFlags
	Display DisplayFlags
	Logs    LogFlags
	Mode    ModeFlags
	About   aboutFlags
	Budget  budget.Budget
	Cluster ClusterFlags
	Worker  bool // the program plays turns of others
	// Metrics count the calls of a worker; nil for any other program.
	Metrics *metrics.Registry
}

// WaitForServers makes the program wait for the database and the engine while they are away.
func (o *Options) WaitForServers() { o.Session.Waits, o.Cluster.Waits = true, true }

// PanelFlags choose the panel.
type PanelFlags struct {
	Config, Model, Models, Backend, BaseURL, SystemMessage, CWD string
	TurnLimit                                                   time.Duration
	Strategy, Preset                                            string         // over the config
	Schema                                                      *schema.Schema // nil for none
}

// SessionFlags choose the session, and where sessions are kept.
type SessionFlags struct {
	ID, StateDir, Database string
	GoOn, Anywhere, Fresh  bool
	Lines, Trust           bool
	Waits                  bool // for a database that is away at the start
	// Pooler and IsBusy are as in DatabaseAddress. IsBusy is no flag.
	Pooler, IsBusy bool
}

// DisplayFlags choose the output.
type DisplayFlags struct {
	JSON, NoDisplay, Automation, Debug bool
	TUI, Inline, Plain, Quiet          bool
	Raw, Pager, NoPager                bool
	Spoken                             bool
	OutputFile, DumpInputs             string
	LogFormat                          string // "" for text
	// LogLevel and MetricsListen are of a worker.
	LogLevel, MetricsListen string
}

// aboutFlags ask for information that needs no question.
type aboutFlags struct {
	Validate, Example          string
	ListExamples, ListBackends bool
}

// longestTimeout is the limit of the same setting in a configuration.
const longestTimeout = 30 * 24 * time.Hour

// readTurnLimit reads the value of --orchestrator-timeout.
func (f *PanelFlags) readTurnLimit(_ *cli.Context, text string) error {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds <= longestTimeout.Seconds()) { // NaN is neither
		return fmt.Errorf("--orchestrator-timeout is %q: it is a number of seconds, above 0 and at most %.0f (30 days)",
			wording.Shortened(text, 40), longestTimeout.Seconds())
	}
	f.TurnLimit = time.Duration(seconds * float64(time.Second))
	return nil
}

// readSchema reads the value of --schema.
func (f *PanelFlags) readSchema(_ *cli.Context, file string) error {
	data, err := readUpTo(file, 2*schema.MaxBytes+4) // UTF-16 takes two bytes for a character
	if err != nil {
		return fmt.Errorf("--schema: %w; name a file with a JSON Schema", err)
	}
	text, err := charset.Strict(data)
	if err == nil {
		f.Schema, err = schema.Parse([]byte(text))
	}
	if err != nil {
		return fmt.Errorf("--schema: %s: %w", plain.Line(file), err)
	}
	return nil
}

// readUpTo returns at most so many bytes of a file.
func readUpTo(file string, most int64) (text []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most))
}

// Describes reports whether the flags describe a panel.
func (f PanelFlags) Describes() bool {
	return f.Model != "" || f.Models != "" || f.Backend != "" || f.BaseURL != "" || f.SystemMessage != ""
}

// IsNamed reports whether the flags name or describe a panel.
func (f PanelFlags) IsNamed() bool { return f.Config != "" || f.Describes() }

// Check returns an error for flags that exclude each other.
func (o Options) Check() error {
	if o.Panel.Config != "" && o.Panel.Describes() {
		return errors.New("--config: the config says which models and system messages there are; leave out --model, --models, --backend, --base-url and --system-message, or --config")
	}
	if o.Panel.Models != "" && o.Panel.Model+o.Panel.Backend+o.Panel.BaseURL != "" {
		return errors.New("--models: it names the models of a panel, each as TYPE/MODEL where its name does not say whose it is: leave out --model, --backend and --base-url, or --models")
	}
	return o.Session.check()
}

// MayGoOn reports whether the session may exist already.
func (f SessionFlags) MayGoOn() bool { return f.GoOn || f.ID != "" && f.ID != NewSession }

func (f SessionFlags) check() error {
	if f.GoOn && f.ID == NewSession {
		return errors.New("--continue: there is nothing to go on with in a new session: leave it out, or --session-id new")
	}
	if f.Anywhere && !f.GoOn {
		return errors.New("--anywhere: it chooses the session of --continue: give --continue too")
	}
	if f.Fresh && !f.GoOn {
		return errors.New("--fresh: it starts the turn over that --continue would finish: give --continue too")
	}
	return nil
}

// Check proves, before anything is paid for, that the files of the flags can be written.
func (f DisplayFlags) Check() error {
	if f.OutputFile != "" {
		if err := checkOutputFile(f.OutputFile); err != nil {
			return err
		}
	}
	if f.DumpInputs != "" {
		return debugbackend.CheckDir(f.DumpInputs)
	}
	return nil
}

// The categories of the flags in --help.
const (
	asking    = "Asking"
	talking   = "Sessions"
	output    = "Output"
	Reference = "Reference"
)

// TextFlag returns a flag with a text. A flag that is not given leaves its option alone: some may stand
// before a command as well as after it.
func TextFlag(category, name string, to *string, usage string, aliases ...string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Aliases: aliases, Category: category, Usage: usage, Action: func(_ *cli.Context, text string) error {
		*to = text
		return nil
	}}
}

// SwitchFlag returns a flag without a value. See TextFlag.
func SwitchFlag(category, name string, to *bool, usage string, aliases ...string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: name, Aliases: aliases, Category: category, Usage: usage, DisableDefaultText: true, Action: func(_ *cli.Context, on bool) error {
		*to = on
		return nil
	}}
}

// Texts are the values of a flag that may be given several times. It implements cli.Generic: the library
// splits its own slices at commas, which the name of a file may have.
type Texts []string

// Set implements cli.Generic.
func (t *Texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func (t *Texts) String() string { return strings.Join(*t, ", ") }

// Flags binds the flags to the options. Flags of MassGen keep their names and meaning.
func (o *Options) Flags() []cli.Flag {
	return slices.Concat(o.Panel.flags(), o.Attach.flags(), o.Session.flags(), o.Display.flags(), o.Logs.flags(), o.Mode.flags(), silentFlags(), o.About.flags(), BudgetFlags(&o.Budget, asking, ""))
}

func (f *PanelFlags) flags() []cli.Flag {
	return []cli.Flag{
		TextFlag(asking, "config", &f.Config, "the panel: a YAML `FILE`, @examples/NAME or a shipped name"),
		TextFlag(asking, "model", &f.Model, "ask one model, `NAME`, without a config", "m"),
		TextFlag(asking, "models", &f.Models, "ask these models, `A,B,C`, each TYPE/MODEL, TYPE or MODEL"),
		TextFlag(asking, "backend", &f.Backend, "the `TYPE` of the one model's service; see --list-backends"),
		TextFlag(asking, "base-url", &f.BaseURL, "the address, `URL`, of the one model's service"),
		TextFlag(asking, "cwd", &f.CWD, "the folder `DIR` whose files the one agent reads and writes; those of a panel get DIR/ID"),
		TextFlag(asking, "system-message", &f.SystemMessage, "`TEXT` that the one model, or each of --models, is given before the conversation"),
		TextFlag(asking, "strategy", &f.Strategy, "decide by `NAME`: consensus, blind, majority, judge or cascade"),
		TextFlag(asking, "preset", &f.Preset, "decide as the preset `NAME` says; massgen presets lists them"),
		&cli.StringFlag{Name: "schema", Action: f.readSchema, Category: asking, Usage: "the answer is a JSON object that fits the JSON Schema in `FILE`"},
		&cli.StringFlag{Name: "orchestrator-timeout", Action: f.readTurnLimit, Category: asking,
			Usage: "end a turn after so many `SECONDS`, with the best answer so far", DefaultText: "1800"},
	}
}

func (f *SessionFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "session-id", Aliases: []string{"session", "s"}, Destination: &f.ID, Category: talking,
			Usage:       "continue the session `ID` (or last), or begin it (or new); a path such as ./chat.db keeps it there",
			DefaultText: "new"},
		SwitchFlag(talking, "continue", &f.GoOn, "go on with this folder's last session, or that of --session-id; without a question, finish its interrupted turn", "c"),
		SwitchFlag(talking, "anywhere", &f.Anywhere, "with --continue: go on with the last session of all folders"),
		SwitchFlag(talking, "lines", &f.Lines, "take each line of standard input for a question or a command, in one session"),
		SwitchFlag(talking, "fresh", &f.Fresh, "with --continue: start the turn that was interrupted over; what it has cost counts"),
		&cli.StringFlag{Name: "state-dir", Destination: &f.StateDir, Category: talking,
			Usage: "keep sessions in `DIR`", DefaultText: ".massgen if it is there, else massgen in your state folder"},
		SwitchFlag(talking, "trust", &f.Trust, TrustUsage),
	}
}

// TrustUsage is the help of the flag --trust.
const TrustUsage = "use the .massgen of this folder from now on, although you have not made it"

func (f *DisplayFlags) flags() []cli.Flag {
	return []cli.Flag{
		SwitchFlag(output, "json", &f.JSON, "print the whole result, as one line of JSON"),
		TextFlag(output, "output-file", &f.OutputFile, "write the answer to `FILE` too; in a conversation, the last one"),
		SwitchFlag(output, "no-display", &f.NoDisplay, "do not show progress"),
		SwitchFlag(output, "tui", &f.TUI, "show a question of the command line in full screen, too"),
		&cli.BoolFlag{Name: "inline", Aliases: []string{"multi-turn"}, Destination: &f.Inline, Category: output, Usage: "talk below what the terminal shows in place of the full screen; answers stay in its scrollback"},
		SwitchFlag(output, "plain", &f.Plain, "talk line by line in place of the full screen; append lines of progress; never redraw"),
		SwitchFlag(output, "screen-reader", &f.Spoken, "write plain lines in words, and redraw none (also MASSGEN_SCREEN_READER=1 or ACCESSIBLE=1)"),
		SwitchFlag(output, "quiet", &f.Quiet, "show nothing but the answer and errors", "q"),
		SwitchFlag(output, "raw", &f.Raw, "print the Markdown of the answer as it is, also on a terminal"),
		SwitchFlag(output, "pager", &f.Pager, "show an answer that is longer than the screen in $PAGER (else less -FRX)"),
		SwitchFlag(output, "no-pager", &f.NoPager, "use no pager, as without --pager: for an alias that has it"),
		SwitchFlag(output, "automation", &f.Automation, "for scripts: print where the logs and the answer are in place of the answer, and no progress; a question is required"),
		TextFlag(output, "dump-inputs", &f.DumpInputs, "write every model call, exactly as it was sent, to `DIR`"),
		SwitchFlag(output, "debug", &f.Debug, "log each step (also LOG_LEVEL=debug)"),
		f.FormatFlag(output),
	}
}

func (f *aboutFlags) flags() []cli.Flag {
	return []cli.Flag{
		TextFlag(Reference, "validate", &f.Validate, "check the config `FILE`, keys and addresses; call no model"),
		SwitchFlag(Reference, "list-examples", &f.ListExamples, "list the shipped configs"),
		TextFlag(Reference, "example", &f.Example, "print the shipped config `NAME`"),
		SwitchFlag(Reference, "list-backends", &f.ListBackends, "list the types of backends, and which you can use; with a TYPE after it, describe that one"),
	}
}

// OpensScreen reports whether a conversation is shown on a screen, whole or inline: a person is there, and has
// not asked for plain lines.
func (o Options) OpensScreen(env *Env, given bool) bool {
	f := o.Display
	name, _ := env.Lookup("TERM")
	switch {
	case f.Plain, f.Automation, f.JSON, f.NoDisplay, o.Session.Lines, name == "dumb", o.Worker, env.TTY == nil && !f.TUI:
		return false
	case !IsTerminal(env.Stdin), !IsTerminal(env.Stdout), !IsTerminal(env.Stderr):
		return false
	}
	return f.TUI || f.Inline || !given
}

// checkOutputFile proves that the file can be written, and leaves the file as it is.
func checkOutputFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return fmt.Errorf("--output-file: %s is a pipe, and its reader may never come; > writes to it", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil && isNew {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("--output-file: %w; name a file that can be written", err)
	}
	return nil
}

// LastSession names the session that was used last, unless a session has this id.
const LastSession = "last"

// NewSession, in place of an id, begins a session.
const NewSession = "new"

// IsPath reports whether --session names a file, with a folder or the ending of a file, and not an id.
func IsPath(session string) bool {
	if strings.Contains(session, "|") { // seed 002's ids may hold anything
		return false
	}
	return strings.ContainsAny(session, `/\`) || store.IsExported(session) || strings.HasSuffix(session, ".db")
}

// DatabaseVariable is the variable with the address of the database, which may contain a password.
const DatabaseVariable = "MASSGEN_DATABASE"

// attachFlag reads the files of the first question.
type attachFlag struct {
	paths Texts
	Files []backends.File
}

func (f *attachFlag) flags() []cli.Flag {
	return []cli.Flag{&cli.GenericFlag{
		Name: "attach", Value: &f.paths, Category: asking, Action: f.read,
		Usage: "ask with the picture, PDF or text `FILE` (png, jpeg, webp, gif, pdf, UTF-8); repeat it for several",
	}}
}

func (f *attachFlag) read(*cli.Context, any) error {
	for _, path := range f.paths {
		file, err := attach.Open(path)
		if err != nil {
			return fmt.Errorf("--%w", err) // it begins with "attach" and the file's name
		}
		f.Files = append(f.Files, file)
	}
	f.Files = attach.Once(f.Files)
	if err := attach.Check(f.Files); err != nil {
		return fmt.Errorf("--attach: %w", err)
	}
	return nil
}

// BudgetFlags returns the flags for the limits of a turn and of a session. They replace the config's
// limits. Their help begins with when.
func BudgetFlags(b *budget.Budget, category, when string) []cli.Flag {
	var flags []cli.Flag
	for _, of := range []struct {
		prefix, what, kept string
		limits             *budget.Limits
	}{{"", "a turn", "", &b.Turn}, {"session-", "all turns of a session together", "; the session keeps this limit", &b.Session}} {
		flags = append(flags,
			&cli.StringFlag{Name: of.prefix + "max-usd", Category: category, Action: readUSD(of.prefix+"max-usd", &of.limits.USD),
				Usage: when + "let " + of.what + " cost no more than so many US `DOLLARS`" + of.kept},
			&cli.StringFlag{Name: of.prefix + "max-tokens", Category: category, Action: readCount(of.prefix+"max-tokens", &of.limits.Tokens),
				Usage: when + "let " + of.what + " take no more than `N` tokens, of input and output" + of.kept},
			&cli.StringFlag{Name: of.prefix + "max-calls", Category: category, Action: readCount(of.prefix+"max-calls", &of.limits.Calls),
				Usage: when + "let " + of.what + " make no more than `N` requests to models; one that is answered with an HTTP error is not counted" + of.kept},
		)
	}
	return flags
}

func readUSD(name string, limit **budget.USD) func(*cli.Context, string) error {
	return func(_ *cli.Context, text string) error {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= configs.MostUSD) { // NaN is neither
			return fmt.Errorf("--%s is %q: it is a number of US dollars from 0 to %d", name, wording.Shortened(text, 40), configs.MostUSD)
		}
		usd := budget.Dollars(v)
		*limit = &usd
		return nil
	}
}

func readCount(name string, limit **int) func(*cli.Context, string) error {
	return func(_ *cli.Context, text string) error {
		v, err := strconv.ParseInt(text, 10, 32)
		if err != nil || v < 0 {
			return fmt.Errorf("--%s is %q: it is a whole number from 0 on", name, wording.Shortened(text, 40))
		}
		n := int(v)
		*limit = &n
		return nil
	}
}
