package app

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
)

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
complete -o default -F _massgen massgen
`
	zshCompletion = `#compdef massgen
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
compdef _massgen massgen
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
complete -c massgen -f -a '(__massgen_complete)'
`
	powershellCompletion = `Register-ArgumentCompleter -Native -CommandName massgen -ScriptBlock {
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
		BashComplete: cmdline.CompleteFirst("bash", "zsh", "fish", "powershell"),
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
