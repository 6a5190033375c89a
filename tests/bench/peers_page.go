package main

import (
	"fmt"
	"slices"
	"strings"
)

const peersIntro = `# Beside others

` + "`make peers`" + ` measures massgen beside eino, adk-go, LangGraph and MassGen in one run, and writes this page; do not edit it.
Times depend on the machine and on what else it does meanwhile. Each ratio compares two runs of one round, so it depends on
the machine less; it is the median of all rounds, with the lowest and the highest.

`

const peersWork = `## Mocked work

The models answer at once and in the same process, so what is left is each library's own share. Each library uses its own
model interface, its own tools and its own way to run an agent; package massgen is the public library.

- turn: an agent answers a question, in a new session.
- tool: it calls a tool, and then answers.
- session: 25 turns of one session. Each of them sends what the library sends of the turns before.
- massgen journals each event of a turn before it goes on. It streams from its model. It forgets no session.
- eino is a ChatModelAgent and its Runner. It keeps no sessions and journals nothing: the benchmark keeps the messages.
- adk-go is an LLM agent and its Runner, which appends each event to a session: in memory, or in its tables on SQLite.
- Both stores on SQLite use one driver with the same settings: a log written ahead, and a sync at each commit.
- LangGraph is a ReAct agent with its checkpoints in memory.
- eino, adk-go and LangGraph ask for whole messages, which costs them less than a stream.

`

// peerLimits returns the limits on massgen's time divided by a peer's time. Against eino they
// leave room for plain code: a model's call takes thousands of times as long as the difference.
func peerLimits() []struct {
	work, own, peer string
	most            float64
} {
	type l = struct {
		work, own, peer string
		most            float64
	}
	var all []l
	for _, work := range []string{"turn", "tool", "session"} {
		eino := 2.0
		if work == "tool" {
			eino = 2.5
		}
		all = append(all, l{work, "massgen", "eino", eino}, l{work, "massgen", "adk", 1}, l{work, "massgen-sqlite", "adk-sqlite", 1}, l{work, "massgen", "langgraph", 1})
	}
	return all
}

// ratios returns the ratio of a value of two benchmarks, round by round. A round that has not
// measured both gives none.
func (r *peerResults) ratios(own, peer, unit string) (all []float64) {
	for _, round := range r.Rounds {
		if a, b := round[own].Values[unit], round[peer].Values[unit]; a > 0 && b > 0 {
			all = append(all, a/b)
		}
	}
	return all
}

// page returns the results as Markdown.
func (r *peerResults) page() string {
	var b strings.Builder
	b.WriteString(peersIntro)
	r.writeBetter(&b)
	(&results{Machine: r.Machine}).writeMachine(&b)
	for _, v := range r.Versions {
		fmt.Fprintf(&b, "- %s\n", v)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "- %s was not measured: it is not installed\n", m)
	}
	fmt.Fprintf(&b, "\n## Limits\n\nThe project's own limits, over %d rounds.\n\n", len(r.Rounds))
	r.writePeerLimits(&b)
	b.WriteString(peersWork)
	r.writeWork(&b)
	r.writePanels(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// writeBetter says where a peer takes less time, and why.
func (r *peerResults) writeBetter(b *strings.Builder) {
	b.WriteString("## Where a peer is faster\n\n")
	before := b.Len()
	for _, l := range peerLimits() {
		if all := r.ratios(l.work+"/"+l.own, l.work+"/"+l.peer, "ns/op"); len(all) > 0 && median(all) > 1 {
			fmt.Fprintf(b, "- %s: %s takes %.2f times the time of %s\n", l.work, l.own, median(all), l.peer)
		}
	}
	if b.Len() == before {
		b.WriteString("Nowhere in this run.\n\n")
		return
	}
	b.WriteString("\nmassgen does more for a turn: it journals each event, so that a lost process resumes the turn; it notes the hash of each\n" +
		"input; and it counts tokens and spending against limits.\n\n")
}

func (r *peerResults) writePeerLimits(b *strings.Builder) {
	var rows [][]string
	add := func(name string, most float64, all []float64) {
		if len(all) == 0 {
			rows = append(rows, []string{name, fmt.Sprint(most), "–", "–", "not measured"})
			return
		}
		verdict := "kept"
		if median(all) > most {
			verdict = "**missed**"
		}
		rows = append(rows, []string{name, fmt.Sprint(most), fmt.Sprintf("%.2f", median(all)), fmt.Sprintf("%.2f–%.2f", slices.Min(all), slices.Max(all)), verdict})
	}
	for _, l := range peerLimits() {
		add(l.work+": "+l.own+" / "+l.peer, l.most, r.ratios(l.work+"/"+l.own, l.work+"/"+l.peer, "ns/op"))
	}
	add("three agents / turn: massgen / massgen", 8, r.ratios("panel=3/massgen", "turn/massgen", "ns/op"))
	var cpu []float64
	for _, round := range r.Rounds {
		cpu = append(cpu, round["panel=1000/massgen"].Values["cpu-ns/op"]/1e9)
	}
	add("CPU of 1,000 agents with their inputs, s", 2, cpu)
	writeTable(b, []string{"", "at most", "measured", "lowest–highest", ""}, rows)
}

func (r *peerResults) writeWork(b *strings.Builder) {
	var rows [][]string
	for _, work := range []string{"turn", "tool", "session", "panel=3", "panel=1000"} {
		for _, peer := range []string{"massgen", "eino", "adk", "langgraph", "massgen-sqlite", "adk-sqlite"} {
			name := work + "/" + peer
			row := []string{name}
			for _, unit := range []string{"ns/op", "cpu-ns/op", "B/op", "allocs/op"} {
				var all []float64
				for _, round := range r.Rounds {
					if v, ok := round[name].Values[unit]; ok {
						all = append(all, v)
					}
				}
				if len(all) == 0 {
					row = append(row, "–")
					continue
				}
				row = append(row, fmt.Sprintf("%.0f", median(all)))
			}
			if row[1] != "–" {
				rows = append(rows, row)
			}
		}
	}
	writeTable(b, []string{"work/library", "ns/op", "CPU ns/op", "B/op", "allocs/op"}, rows)
}

func (r *peerResults) writePanels(b *strings.Builder) {
	if len(r.Panels) == 0 {
		return
	}
	b.WriteString("## MassGen\n\nPanels as processes, against the mock of `make bench`, by turns. Own clock is the time of MassGen's `run()`, without its\nimports.\n\n")
	var rows [][]string
	for _, p := range r.Panels {
		rows = append(rows, []string{
			fmt.Sprint(p.Agents), p.Latency.String(), fmt.Sprint(p.Runs),
			seconds(medianOf(p.Program, wallOf)), seconds(medianOf(p.MassGen, wallOf)), seconds(median(p.Own)), fmt.Sprint(p.OwnCalls), fmt.Sprint(p.MassGenCalls),
		})
	}
	writeTable(b, []string{"agents", "latency", "runs", "massgen, s", "MassGen, s", "MassGen by its own clock, s", "massgen calls", "MassGen calls"}, rows)
}
