package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagsMayStandAnywhere(t *testing.T) {
	doubt := func(word string) string { return word + " is no command: massgen help lists them" }
	cases := map[string]invocation{
		"question":                          {words: []string{"question"}, doubt: doubt("question")},
		"--json question":                   {rootFlags: []string{"--json"}, words: []string{"question"}, doubt: doubt("question")},
		"question --model m --json":         {rootFlags: []string{"--model=m", "--json"}, words: []string{"question"}, doubt: doubt("question")},
		"-model=m question":                 {rootFlags: []string{"--model=m"}, words: []string{"question"}, doubt: doubt("question")},
		"--json=false q":                    {rootFlags: []string{"--json=false"}, words: []string{"q"}, doubt: doubt("q")},
		"--json=1 q":                        {rootFlags: []string{"--json"}, words: []string{"q"}, doubt: doubt("q")},
		"--model --json q":                  {rootFlags: []string{"--model=--json"}, words: []string{"q"}, doubt: doubt("q")},
		"--json -- --model m":               {rootFlags: []string{"--json"}, words: []string{"--model", "m"}},
		"- --json":                          {rootFlags: []string{"--json"}, words: []string{"-"}},
		"inputs dir --table":                {command: "inputs", commandFlags: []string{"--table"}, words: []string{"dir"}},
		"--debug inputs --diff a b":         {command: "inputs", rootFlags: []string{"--debug"}, commandFlags: []string{"--diff"}, words: []string{"a", "b"}},
		"question inputs":                   {words: []string{"question", "inputs"}},
		"-- inputs":                         {words: []string{"inputs"}},
		"-m m -s=a=b q":                     {rootFlags: []string{"--model=m", "--session-id=a=b"}, words: []string{"q"}, doubt: doubt("q")},
		"-v":                                {rootFlags: []string{"--version"}},
		"inputs --help":                     {command: "inputs", commandFlags: []string{"--help"}},
		"q --orchestrator-timeout 5 --json": {rootFlags: []string{"--orchestrator-timeout=5", "--json"}, words: []string{"q"}, doubt: doubt("q")},
	}
	for line, want := range cases {
		got, err := splitArgs(cliApp(testProgram(t)), strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(invocation{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", line, diff)
		}
	}
}
