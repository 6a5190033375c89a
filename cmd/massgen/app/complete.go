package app

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// completeCommand is what the completion scripts run, with the words of the line up to the cursor,
// the last behind a colon: shells drop empty ones. It prints what can stand in the place of the last
// one: a line for each, with a tab before what it is about. A line :files stands for all files.
const completeCommand = "__complete"

// anyFile stands for all files in what can follow.
const anyFile = ":files"

// completer finds what can follow on a command line. It calls nobody, and makes no file.
type completer struct {
	p      *program.Program
	app    *cli.App
	before []string // the words before the one that is typed
	// command is the subcommand, nil for the program; flags are its flags, and words are the
	// words that no flag takes.
	command *cli.Command
	flags   []cli.Flag
	words   []string
	open    cli.Flag // the flag whose value is typed, nil for none
}

// complete prints what can follow the words of a line, whose last is behind a colon.
func complete(p *program.Program, app *cli.App, line []string) error {
	last := len(line) - 1
	return p.Console.PutLines(candidates(p, app, line[:last], strings.TrimPrefix(line[last], ":")))
}

// completeNames is complete for the scripts that older versions printed: they want names alone, and leave
// the last word out unless it begins a flag.
func completeNames(p *program.Program, app *cli.App, line []string) error {
	typed := ""
	if last := len(line) - 1; last >= 0 && strings.HasPrefix(line[last], "-") {
		line, typed = line[:last], line[last]
	}
	var names []string
	for _, text := range candidates(p, app, line, typed) {
		if name, _, _ := strings.Cut(text, "\t"); name != anyFile {
			names = append(names, name)
		}
	}
	return p.Console.PutLines(names)
}

// candidates returns what can follow the words before, and begins with what is typed.
func candidates(p *program.Program, app *cli.App, before []string, typed string) (found []string) {
	c := &completer{p: p, app: app, before: before, flags: app.Flags}
	if slices.Contains(before, "--") {
		return nil // a question: nobody can complete it
	}
	c.read()
	for _, text := range c.candidates(typed) {
		if strings.HasPrefix(text, typed) || text == anyFile {
			found = append(found, strings.TrimRight(plain.Escape(text, "\t"), "\t"))
		}
	}
	return found
}

// read takes the words before apart.
func (c *completer) read() {
	for i := 0; i < len(c.before); i++ {
		word := c.before[i]
		if !strings.HasPrefix(word, "-") || word == "-" {
			if command := c.app.Command(word); command != nil && c.command == nil && len(c.words) == 0 {
				c.command, c.flags = command, flagsOf(command)
				continue
			}
			c.words = append(c.words, word)
			continue
		}
		flag, _, value, hasValue := flagNamed(c.flags, word)
		if flag == nil || !takesValue(flag) {
			continue
		}
		if !hasValue {
			if i++; i == len(c.before) {
				c.open = flag
				return
			}
			value = c.before[i]
		}
		switch flag.Names()[0] { // where the sessions are, and whose models are meant
		case "state-dir":
			c.p.Options.Session.StateDir = value
		case "backend":
			c.p.Options.Panel.Backend = value
		case "session-id", "session":
			if cmdline.IsPath(value) {
				c.p.Options.Session.ID = value
			}
		}
	}
}

func takesValue(f cli.Flag) bool {
	doc, ok := f.(cli.DocGenerationFlag)
	return ok && doc.TakesValue()
}

// candidates returns what can stand where a word is typed.
func (c *completer) candidates(typed string) []string {
	if c.open != nil {
		return c.values(c.open)
	}
	if strings.HasPrefix(typed, "-") {
		if flag, _, _, hasValue := flagNamed(c.flags, typed); flag != nil && hasValue {
			name, _, _ := strings.Cut(typed, "=")
			var list []string
			for _, value := range c.values(flag) {
				if value != anyFile { // the shell knows no files behind a name
					list = append(list, name+"="+value)
				}
			}
			return list
		}
		return c.flagNames()
	}
	switch {
	case c.command != nil && c.command.BashComplete != nil:
		return c.arguments()
	case c.command == nil && len(c.words) == 0:
		var list []string
		for _, command := range c.app.VisibleCommands() {
			list = append(list, command.Name+"\t"+command.Usage)
		}
		return list
	}
	return nil
}

func (c *completer) flagNames() (list []string) {
	for _, f := range c.flags {
		about := ""
		if doc, ok := f.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(doc.GetUsage(), "`", "")
		}
		for _, name := range dashed(f) {
			list = append(list, name+"\t"+about)
		}
	}
	return list
}

// values are those of a flag.
func (c *completer) values(f cli.Flag) []string {
	switch f.Names()[0] {
	case "session-id":
		return append([]string{cmdline.NewSession + "\tbegin one", cmdline.LastSession + "\tgo on with the last one"}, c.sessionIDs()...)
	case "session":
		return []string{anyFile}
	case "model", "models":
		return c.models()
	case "config", "validate":
		var list []string
		for _, e := range configs.Examples() {
			list = append(list, "@examples/"+e.Name+"\t"+e.Summary)
		}
		return append(list, anyFile)
	case "example":
		var list []string
		for _, e := range configs.Examples() {
			list = append(list, e.Name+"\t"+e.Summary)
		}
		return list
	case "cwd", "state-dir", "dump-inputs", "output-file", "html", "svg":
		return []string{anyFile}
	}
	return nil
}

// models are the models of the table of prices, of one provider if --backend names it.
func (c *completer) models() []string {
	table, err := prices.New(nil)
	if err != nil {
		return nil
	}
	return table.Names(c.p.Options.Panel.Backend)
}

// mostCompleted is how many sessions are offered.
const mostCompleted = 100

// sessionIDs are the newest sessions, with their titles. Those of a database are not asked for: it
// may be far away.
func (c *completer) sessionIDs() (list []string) {
	ctx := context.Background()
	if c.p.Kept.Database() != "" {
		return nil
	}
	kept, err := c.p.Kept.OpenIfThere(ctx, archive.ToManage)
	if err != nil {
		return nil
	}
	defer func() { _ = kept.Close() }() // it was only read
	found, err := kept.Sessions.List(ctx, sessions.Filter{Limit: mostCompleted})
	if err != nil {
		return nil
	}
	for _, s := range found {
		list = append(list, plain.Line(s.ID)+"\t"+plain.Line(s.Title))
	}
	return list
}

// arguments are those that may follow the words of a command, as its BashComplete names them: verbs,
// ID for sessions, FILE for files.
func (c *completer) arguments() (list []string) {
	var named strings.Builder
	set := flag.NewFlagSet("", flag.ContinueOnError)
	if err := set.Parse(append([]string{"--"}, c.words...)); err != nil {
		return nil
	}
	c.command.BashComplete(cli.NewContext(&cli.App{Writer: &named}, set, nil))
	for name := range strings.Lines(named.String()) {
		switch name = strings.TrimSuffix(name, "\n"); name {
		case archive.SessionArgument:
			list = append(list, c.sessionIDs()...)
		case archive.FileArgument:
			list = append(list, anyFile)
		default:
			list = append(list, name)
		}
	}
	return list
}

// The scripts ask the program itself what can follow, as completeCommand says.
const (
	bashCompletion = `_massgen() {
  local line=${COMP_LINE:0:COMP_POINT} parts=${COMP_WORDBREAKS//[^=:]} cur typed text about IFS=$' \t\n'
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[${#words[@]}-1]}
  typed=$cur
  [[ -n $parts ]] && typed=${cur##*[$parts]}
  unset "words[${#words[@]}-1]"
  COMPREPLY=()
  while IFS=$'\t' read -r text about; do
    if [[ $text == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r text; do COMPREPLY+=("$text"); done < <(compgen -f -- "$cur")
    else
      COMPREPLY+=("${text#"${cur%"$typed"}"}")
    fi
  done < <("${words[0]}" __complete "${words[@]:1}" ":$cur" 2>/dev/null)
}
complete -o default -F _massgen massgen massgen-temporal
`
	zshCompletion = `#compdef massgen massgen-temporal
_massgen() {
  local -a found
  local text about files
  while IFS=$'\t' read -r text about; do
    if [[ $text == :files ]]; then
      files=1
    else
      found+=("${text//:/\\:}${about:+:$about}")
    fi
  done < <("${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" ":${(Q)words[CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe massgen found
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _massgen ]]; then
  _massgen "$@"
else
  compdef _massgen massgen massgen-temporal
fi
`
	fishCompletion = `function __massgen_complete
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  for line in ($words[1] __complete $words[2..-1] ":$typed" 2>/dev/null)
    if test "$line" = :files
      __fish_complete_path "$typed"
    else
      echo $line
    end
  end
end
complete -c massgen -c massgen-temporal -f -a '(__massgen_complete)'
`
	powershellCompletion = `Register-ArgumentCompleter -Native -CommandName massgen, massgen-temporal -ScriptBlock {
  param($typed, $line, $cursor)
  $words = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString().Trim("'") })
  & $words[0] __complete @($words | Select-Object -Skip 1) ":$($typed.Trim("'"))" 2>$null | ForEach-Object {
    $text, $about = $_ -split "` + "`t" + `", 2
    if ($text -eq ':files') {
      Get-ChildItem -Name -Path "$typed*" | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
    } else {
      if ($text -match '^@| ') { $shown = "'$text'" } else { $shown = $text }
      if (-not $about) { $about = $text }
      [System.Management.Automation.CompletionResult]::new($shown, $text, 'ParameterValue', $about)
    }
  }
}
`
)

func completionCommand(c *cmdline.Console) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for bash, zsh, fish or powershell",
		UsageText: "massgen completion bash >> ~/.bashrc\nmassgen completion zsh >> ~/.zshrc\n" +
			"massgen completion fish > ~/.config/fish/completions/massgen.fish\nmassgen completion powershell >> $PROFILE",
		BashComplete: archive.CompleteFirst("bash", "zsh", "fish", "powershell"),
		Action: func(ctx *cli.Context) error {
			scripts := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion, "powershell": powershellCompletion}
			script, ok := scripts[strings.Join(ctx.Args().Slice(), " ")]
			if !ok {
				return errors.New("completion: it takes bash, zsh, fish or powershell")
			}
			return c.Put(script)
		},
	}
}
