package talk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/internal/failures"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/setup/panels"
	"github.com/massgen/massgen/internal/system/plain"
)

// isFallback reports whether a warning, as package report words it, is about calls that went to another model.
func isFallback(warning string) bool { return strings.Contains(warning, " could not be used: ") }

// fault is a failure of one call.
type fault struct {
	model  string // TYPE/MODEL, if the error names several models
	reason string
}

// Errors of package retry that name several models, and the beginnings of their parts.
var (
	severalModels = regexp.MustCompile(`\d+ models failed: `)
	partOfModel   = regexp.MustCompile(`(?:^|; )([a-z0-9_]+/[^\s;]+): `)
)

// notCalled is the beginning of the error of a call to a service that has failed too often. The last failure follows.
var notCalled = regexp.MustCompile(`^[^:]+: overloaded: not called until [^;]*; last: `)

// faultsOf returns the failures that an agent's error names.
func faultsOf(err string) (list []fault) {
	err = notCalled.ReplaceAllString(err, "")
	at := severalModels.FindStringIndex(err)
	if at == nil {
		return []fault{{reason: err}}
	}
	parts := err[at[1]:]
	begins := partOfModel.FindAllStringSubmatchIndex(parts, -1)
	if len(begins) == 0 { // a service has these words in its error
		return []fault{{reason: err}}
	}
	for i, b := range begins {
		end := len(parts)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		list = append(list, fault{parts[b[2]:b[3]], notCalled.ReplaceAllString(parts[b[1]:end], "")})
	}
	return list
}

// unreached matches the reason of a call that has reached no service, as package providers words it.
var unreached = regexp.MustCompile(`^[^:]+: network: .*?([a-z ]+): is https?://([^/\s]+)\S* right, and can it be reached from here\?$`)

// reasonsOf returns why the agents of a turn failed, in lines that have each reason once.
func reasonsOf(failed []report.FailedAgent) []string {
	const none = "no answer: "
	var all, distinct []fault
	var called []report.FailedAgent
	isSeveral := false
	for _, f := range failed {
		faults := faultsOf(f.Error)
		called = append(called, report.FailedAgent{Agent: f.Agent, Error: faults[0].reason})
		isSeveral = isSeveral || faults[0].model != ""
		for _, one := range faults {
			if all = append(all, one); !slices.Contains(distinct, one) {
				distinct = append(distinct, one)
			}
		}
	}
	if cause, hosts := commonCause(distinct); len(distinct) > 1 && cause != "" {
		return []string{fmt.Sprintf("%s%s, %d times: is this machine online? %s could not be reached", none, cause, len(all), plain.List(hosts))}
	}
	if len(failed) == 1 {
		return []string{none + panels.Reasons(failed)[0]}
	}
	if !isSeveral {
		return []string{none + strings.Join(panels.Reasons(called), "; ")}
	}
	lines := []string{none + plain.Count(len(failed), "agent") + " failed, and each model that they could use:"}
	for _, one := range distinct {
		lines = append(lines, "  "+strings.TrimPrefix(one.model+": ", ": ")+one.reason)
	}
	return lines
}

// commonCause returns why the calls of all faults have reached no service, and which hosts they called. It returns
// "" for other faults, and for several causes.
func commonCause(faults []fault) (cause string, hosts []string) {
	for _, one := range faults {
		m := unreached.FindStringSubmatch(one.reason)
		if m == nil || cause != "" && cause != strings.TrimSpace(m[1]) {
			return "", nil
		}
		if cause = strings.TrimSpace(m[1]); !slices.Contains(hosts, m[2]) {
			hosts = append(hosts, m[2])
		}
	}
	return cause, hosts
}

// release prints the held failures. Failures with one reason share a line.
func (v *progress) release() {
	held := v.held
	v.held = nil
	for _, n := range failures.Merged(v.state, held) {
		v.printOne(&n)
	}
}

// end prints what is left of a turn's progress, but no failure that the explanation of the result has.
func (v *progress) end(r report.Result) {
	v.print(v.state.News)
	v.held = slices.DeleteFunc(v.held, func(n report.News) bool { return failures.IsRepeated(r, n, v.console.Secrets.Redact) })
	v.flush()
}
