package tests

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// refusing is a server that answers a request which its service would refuse with
// status 400, as that does, and says so in the test.
func refusing(t *testing.T, p protocol, reply func(backendtest.Call) backendtest.Reply) func(backendtest.Call) backendtest.Reply {
	return func(c backendtest.Call) backendtest.Reply {
		problem := invalid(t, p, c)
		if problem == "" {
			problem = unalternating(c.Messages())
		}
		if problem == "" {
			return reply(c)
		}
		t.Errorf("%s was sent %s:\n%s", p.model, problem, c.Body)
		return failed(400, problem, nil)
	}
}

// unalternating says where a conversation has two messages of the user, or of the
// assistant, after one another, which some services refuse. The results of one message
// count as one.
func unalternating(messages []backends.Message) string {
	system := func(m backends.Message) bool { return m.Role == backends.RoleSystem }
	before := backends.Role("")
	for _, m := range slices.DeleteFunc(slices.Clone(messages), system) {
		if m.Role == before && m.Role != backends.RoleTool {
			return "two messages of the role " + string(m.Role)
		}
		before = m.Role
	}
	if before == backends.RoleAssistant {
		return "a message of the assistant at the end"
	}
	return ""
}
