package contextbuild

import (
	"strconv"
	"strings"
)

// VotingGuidance returns what an agent is told about when to vote, by MassGen's voting_sensitivity: nothing for
// lenient. A checklist is strict, and a threshold above 0 is the least score of its points.
func VotingGuidance(sensitivity string, threshold int) string {
	switch {
	case sensitivity == "" || sensitivity == "lenient":
		return ""
	case sensitivity == "strict":
		return votingStrict
	case !strings.HasPrefix(sensitivity, "checklist"):
		return votingBalanced
	case threshold <= 0:
		return votingStrict
	}
	return votingStrict + "\n" + strings.ReplaceAll(votingThreshold, "{threshold}", strconv.Itoa(min(threshold, 10)))
}
