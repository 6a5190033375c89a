package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// suiteFlags say what a run measures.
type suiteFlags struct {
	quick, write bool
	only         string   // the only part to run
	panel        wallCase // the only panel to time
}

// readFlags returns the flags of a run, or flag.ErrHelp once it has printed them.
func readFlags(args []string) (f suiteFlags, err error) {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&f.quick, "quick", false, "measure fewer sizes, less often, in under two minutes")
	flags.BoolVar(&f.write, "write", false, "write "+page+", as a full run does")
	flags.StringVar(&f.only, "only", "", "run one `part`: "+strings.Join(names, ", "))
	flags.IntVar(&f.panel.Agents, "agents", 0, "with -only wall: time a panel of `N` agents alone")
	latencyText := flags.String("latency", "500ms", "with -agents: a `time` such as 500ms, or "+lognormal+"300ms-1")
	if err := flags.Parse(args); err != nil {
		return f, fmt.Errorf("read the flags: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return f, fmt.Errorf("%s: flags alone are expected", flags.Arg(0))
	case f.only != "" && !slices.Contains(names, f.only):
		return f, fmt.Errorf("-only %s: the parts are %s", f.only, strings.Join(names, ", "))
	case f.panel.Agents < 0 || f.panel.Agents > 0 && f.only != "wall":
		return f, errors.New("-agents: give a number above 0, and -only wall")
	}
	if f.panel.Latency, err = parseLatency(*latencyText); err != nil {
		return f, fmt.Errorf("-latency: %w", err)
	}
	f.panel.Runs = runsOf(f.panel.Agents)
	return f, nil
}
