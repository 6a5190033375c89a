package app

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

// The scripts ask the program itself what can follow.
const (
	bashCompletion = `_massgen() {
  local cur=${COMP_WORDS[COMP_CWORD]} line=("${COMP_WORDS[@]:0:COMP_CWORD}")
  [[ $cur == -* ]] && line+=("$cur")
  COMPREPLY=($(compgen -W "$("${line[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o default -F _massgen massgen
`
	zshCompletion = `#compdef massgen
_massgen() {
  local -a line found
  line=("${(@)words[1,-2]}")
  [[ $words[-1] == -* ]] && line+=("$words[-1]")
  found=("${(@f)$("${(@)line}" --generate-bash-completion 2>/dev/null)}")
  [[ -n $found[1] ]] && compadd -- "${(@)found}" || _files
}
compdef _massgen massgen
`
)

func (p *program) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for bash, zsh or fish",
		UsageText: "massgen completion bash >> ~/.bashrc", HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			shell := ""
			if len(p.words) == 1 {
				shell = p.words[0]
			}
			var script string
			switch shell {
			case "bash":
				script = bashCompletion
			case "zsh":
				script = zshCompletion
			case "fish":
				var err error
				if script, err = c.App.ToFishCompletion(); err != nil {
					return fmt.Errorf("completion: %w", err)
				}
			default:
				return fmt.Errorf("completion: it takes bash, zsh or fish")
			}
			return p.console.put(script)
		},
	}
}

func manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page", UsageText: "massgen man | man -l -", HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			page, err := c.App.ToManWithSection(1)
			if err != nil {
				return fmt.Errorf("man: %w", err)
			}
			_, err = io.WriteString(c.App.Writer, page)
			return err
		},
	}
}
