package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/internal/tools/schema"
)

// options are the flags of the program, by what they are about. Each group has the method
// flags, which binds it.
type options struct {
	panel   panelFlags
	attach  attachFlag
	session sessionFlags
	display displayFlags
	about   aboutFlags
	budget  budget.Budget
	cluster clusterFlags
	worker  bool // it answers no question of its own
}

// panelFlags say who is asked, and for how long.
type panelFlags struct {
	config, model, models, backend, baseURL, systemMessage, cwd string
	turnLimit                                                   time.Duration
	schema                                                      *schema.Schema // nil for none
}

// sessionFlags say which session is talked in, and where sessions are kept.
type sessionFlags struct {
	id, stateDir, database string
	goOn, fresh            bool
	lines, trust           bool
}

// displayFlags say what is shown and written.
type displayFlags struct {
	json, noDisplay, automation, debug bool
	tui, plain, quiet, raw, noPager    bool
	spoken                             bool
	outputFile, dumpInputs             string
}

// aboutFlags ask for what the program can tell without a question.
type aboutFlags struct {
	validate, example          string
	listExamples, listBackends bool
}

// longestTimeout is the limit of the same setting in a configuration.
const longestTimeout = 30 * 24 * time.Hour

// readTurnLimit takes the value of --orchestrator-timeout.
func (f *panelFlags) readTurnLimit(_ *cli.Context, text string) error {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds <= longestTimeout.Seconds()) { // NaN is neither
		return fmt.Errorf("--orchestrator-timeout is %q: it is a number of seconds, above 0 and at most %.0f (30 days)",
			shortened(text, 40), longestTimeout.Seconds())
	}
	f.turnLimit = time.Duration(seconds * float64(time.Second))
	return nil
}

// readSchema takes the value of --schema.
func (f *panelFlags) readSchema(_ *cli.Context, file string) error {
	text, err := readUpTo(file, schema.MaxBytes+1)
	if err != nil {
		return fmt.Errorf("--schema: %w; name a file with a JSON Schema", err)
	}
	if f.schema, err = schema.Parse(text); err != nil {
		return fmt.Errorf("--schema: %s: %w", plain.Line(file), err)
	}
	return nil
}

// readUpTo returns the beginning of a file, of so many bytes at most.
func readUpTo(file string, most int64) (text []byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, most))
}

// describes says that the flags describe a panel.
func (f panelFlags) describes() bool {
	return f.model != "" || f.models != "" || f.backend != "" || f.baseURL != "" || f.systemMessage != ""
}

// isNamed says that the flags name a panel.
func (f panelFlags) isNamed() bool { return f.config != "" || f.describes() }

func (o options) check() error {
	if o.panel.config != "" && o.panel.describes() {
		return errors.New("--config: the config says which models and system messages there are; leave out --model, --models, --backend, --base-url and --system-message, or --config")
	}
	if o.panel.models != "" && o.panel.model+o.panel.backend+o.panel.baseURL != "" {
		return errors.New("--models: it names the models of a panel, each as TYPE/MODEL where its name does not say whose it is: leave out --model, --backend and --base-url, or --models")
	}
	return o.session.check()
}

// mayGoOn says that the session may be one that is there.
func (f sessionFlags) mayGoOn() bool { return f.goOn || f.id != "" && f.id != newSession }

func (f sessionFlags) check() error {
	if f.goOn && f.id == newSession {
		return errors.New("--continue: there is nothing to go on with in a new session: leave it out, or --session-id new")
	}
	if f.fresh && !f.goOn {
		return errors.New("--fresh: it starts the turn over that --continue would finish: give --continue too")
	}
	return nil
}

// check proves, before anything is paid for, that what the flags name can be written.
func (f displayFlags) check() error {
	if f.outputFile != "" {
		if err := checkOutputFile(f.outputFile); err != nil {
			return err
		}
	}
	if f.dumpInputs != "" {
		return debugbackend.CheckDir(f.dumpInputs)
	}
	return nil
}

// The categories of the flags in --help.
const (
	asking    = "Asking"
	talking   = "Sessions"
	output    = "Output"
	reference = "Reference"
)

// textFlag takes a text. Where the flag is not given, it leaves the option alone: some may stand
// before a command as well as after it.
func textFlag(category, name string, to *string, usage string, aliases ...string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Aliases: aliases, Category: category, Usage: usage, Action: func(_ *cli.Context, text string) error {
		*to = text
		return nil
	}}
}

// switchFlag takes no value, and otherwise is as textFlag.
func switchFlag(category, name string, to *bool, usage string, aliases ...string) *cli.BoolFlag {
	return &cli.BoolFlag{Name: name, Aliases: aliases, Category: category, Usage: usage, DisableDefaultText: true, Action: func(_ *cli.Context, on bool) error {
		*to = on
		return nil
	}}
}

// texts are the values of a flag that may be given several times. It is a cli.Generic: the library's own
// slices are cut at commas, which the name of a file may have.
type texts []string

func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

func (t *texts) String() string { return strings.Join(*t, ", ") }

// flags binds the flags to the options. Those that MassGen has keep their names
// and their meaning.
func (o *options) flags() []cli.Flag {
	return slices.Concat(o.panel.flags(), o.attach.flags(), o.session.flags(), o.display.flags(), o.about.flags(), budgetFlags(&o.budget, asking, ""))
}

func (f *panelFlags) flags() []cli.Flag {
	return []cli.Flag{
		textFlag(asking, "config", &f.config, "the panel: a YAML `FILE`, @examples/NAME or a shipped name"),
		textFlag(asking, "model", &f.model, "ask one model, `NAME`, without a config", "m"),
		textFlag(asking, "models", &f.models, "ask these models, `A,B,C`, each TYPE/MODEL, TYPE or MODEL"),
		textFlag(asking, "backend", &f.backend, "the `TYPE` of the one model's service; see --list-backends"),
		textFlag(asking, "base-url", &f.baseURL, "the address, `URL`, of the one model's service"),
		textFlag(asking, "cwd", &f.cwd, "the folder `DIR` whose files the one agent reads and writes; those of a panel get DIR/ID"),
		textFlag(asking, "system-message", &f.systemMessage, "`TEXT` that the one model, or each of --models, is given before the conversation"),
		&cli.StringFlag{Name: "schema", Action: f.readSchema, Category: asking, Usage: "the answer is a JSON object that fits the JSON Schema in `FILE`"},
		&cli.StringFlag{Name: "orchestrator-timeout", Action: f.readTurnLimit, Category: asking,
			Usage: "end a turn after so many `SECONDS`, with the best answer so far", DefaultText: "1800"},
	}
}

func (f *sessionFlags) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "session-id", Aliases: []string{"session", "s"}, Destination: &f.id, Category: talking,
			Usage:       "continue the session `ID` (or last), or begin it (or new); a path such as ./chat.db keeps it there",
			DefaultText: "new"},
		switchFlag(talking, "continue", &f.goOn, "go on with the last session, or that of --session-id; without a question, finish the turn that was interrupted", "c"),
		switchFlag(talking, "lines", &f.lines, "take each line of standard input for a question or a command, in one session"),
		switchFlag(talking, "fresh", &f.fresh, "with --continue: start the turn that was interrupted over; what it has cost counts"),
		&cli.StringFlag{Name: "state-dir", Destination: &f.stateDir, Category: talking,
			Usage: "keep sessions in `DIR`", DefaultText: ".massgen if it is there, else massgen in your state folder"},
		switchFlag(talking, "trust", &f.trust, trustUsage),
	}
}

const trustUsage = "use the .massgen of this folder from now on, although you have not made it"

func (f *displayFlags) flags() []cli.Flag {
	return []cli.Flag{
		switchFlag(output, "json", &f.json, "print the whole result, as one line of JSON"),
		textFlag(output, "output-file", &f.outputFile, "write the answer to `FILE` too; in a conversation, the last one"),
		switchFlag(output, "no-display", &f.noDisplay, "do not show progress"),
		switchFlag(output, "tui", &f.tui, "show a question of the command line in full screen, too"),
		&cli.BoolFlag{Name: "plain", Aliases: []string{"multi-turn"}, Destination: &f.plain, Category: output, Usage: "talk line by line in place of the full screen; add lines of progress, redraw none"},
		switchFlag(output, "screen-reader", &f.spoken, "write plain lines in words, and redraw none (also MASSGEN_SCREEN_READER=1 or ACCESSIBLE=1)"),
		switchFlag(output, "quiet", &f.quiet, "show nothing but the answer and errors", "q"),
		switchFlag(output, "raw", &f.raw, "print the Markdown of the answer as it is, also on a terminal"),
		switchFlag(output, "no-pager", &f.noPager, "do not show an answer that is longer than the screen in $PAGER (else less -R)"),
		switchFlag(output, "automation", &f.automation, "for scripts: --no-display, and a question is required"),
		textFlag(output, "dump-inputs", &f.dumpInputs, "write every model call, exactly as it was sent, to `DIR`"),
		switchFlag(output, "debug", &f.debug, "log each step (also LOG_LEVEL=debug)"),
	}
}

func (f *aboutFlags) flags() []cli.Flag {
	return []cli.Flag{
		textFlag(reference, "validate", &f.validate, "check the config `FILE` and its services' keys and addresses; call no model"),
		switchFlag(reference, "list-examples", &f.listExamples, "list the shipped configs"),
		textFlag(reference, "example", &f.example, "print the shipped config `NAME`"),
		switchFlag(reference, "list-backends", &f.listBackends, "list the types of backends, and which you can use; with a TYPE after it, describe that one"),
	}
}

// about is the program in a line.
const about = "several language models answer, read each other and vote"

const usageText = `  massgen "question"             ask a panel
  massgen "question" <notes.txt  the same, with a file or a pipe beside it
  massgen -                      read the question from standard input
  massgen                        talk, in a new session; /help lists commands
  massgen --continue "question"  go on with the last session and its panel`

const description = `Without --config and --models, massgen/config.yaml of your configuration folder
is the panel, else the shipped three_agents: it takes the providers whose keys
are set in turn, else a model server on this machine, else a demo with canned
answers. The answer goes to standard output, all else to standard error. Flags
may stand behind the question; -- ends them.`

const statusIntroduction = "The exit status, with --lines the first that is not 0:"

// The flags that the program itself answers, before any other flag is looked at.
const (
	helpName    = "help"
	versionName = "version"
)

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: helpName, Aliases: []string{"h"}, Category: reference, Usage: "show help", DisableDefaultText: true}
}

func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: versionName, Aliases: []string{"v"}, Category: reference, Usage: "print the version", DisableDefaultText: true}
}

// cliApp describes the command line. Each action runs in the program p.
func cliApp(p *program) *cli.App {
	return &cli.App{Name: "massgen", Writer: p.console.out, Flags: append(programFlags(p), helpFlag(), versionFlag()), Commands: commandsOf(p)}
}

// flagsOf returns all flags that may follow a command.
func flagsOf(c *cli.Command) []cli.Flag { return append(slices.Clone(c.Flags), helpFlag()) }

// programFlags returns the flags that the program and its worker take.
func programFlags(p *program) []cli.Flag {
	return slices.Concat(p.options.flags(), clusterFlagsOf(p.env.Cluster, &p.options.cluster, &p.options.session))
}

func commandsOf(p *program) []*cli.Command {
	list := []*cli.Command{
		newInputs(p.console, p.kept), newShow(p.env, p.console, p.kept), newSessions(p.env, p.console, p.kept, p.panels), newMemory(p.console, p.kept),
		permissionsCommand{p.env, p.console}.cli(),
		newReplay(p.env, p.console, p.kept, &p.options.budget, &p.options.panel.config, goOnFrom(p)), newDescribe(p.console, p.kept),
		(&modelsCommand{env: p.env, console: p.console, log: p.log}).cli(),
		newServe(p), newMCP(p),
		completionCommand(p.console), manCommand(), helpCommand(p.console), versionCommand(),
	}
	if p.env.Cluster != nil {
		list = append(list, workerCommand(p), noteCommandOf(p))
	}
	return list
}

// helpCommand prints the help. Without it, the word help would be sent to a panel.
func helpCommand(out *console) *cli.Command {
	return &cli.Command{Name: "help", Hidden: true, Action: func(c *cli.Context) error {
		switch {
		case !c.Args().Present():
			return out.put(helpText(c.App))
		case c.Args().First() == "flags":
			return out.put(flagsText(c.App))
		}
		return fmt.Errorf("help: there is no page %s: massgen help flags has all flags, massgen COMMAND --help all of a command", shortened(plain.Line(c.Args().First()), 40))
	}}
}

// versionCommand is for who types it, as helpCommand is.
func versionCommand() *cli.Command {
	return &cli.Command{Name: "version", Hidden: true, Action: func(c *cli.Context) error {
		_, err := io.WriteString(c.App.Writer, versionText())
		return err
	}}
}

func versionText() string { return "massgen version " + version() + "\n" }

// version is that of the module, as the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
