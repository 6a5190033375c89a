package backendtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/tests/backendtest"
)

func orderChecks() map[string]func([]byte) error {
	return map[string]func([]byte) error{
		"chat":     backendtest.CheckChatOrder,
		"messages": backendtest.CheckMessagesOrder,
		"contents": backendtest.CheckContentsOrder,
	}
}

// TestOrder checks request bodies, which are the scripts' inputs. The command is the
// protocol; "in order" is the answer for a body that a service would take.
func TestOrder(t *testing.T) {
	datadriven.Walk(t, "testdata/order", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			check := orderChecks()[d.Cmd]
			if check == nil {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err := check([]byte(d.Input)); err != nil {
				return err.Error() + "\n"
			}
			return "in order\n"
		})
	})
}

func TestOrderOfWhatCannotBeRead(t *testing.T) {
	for name, check := range orderChecks() {
		for _, body := range []string{"", "{", `{"messages":7,"contents":7}`, `{"messages":[7],"contents":[7]}`} {
			if check([]byte(body)) == nil {
				t.Errorf("%s: %q is in order", name, body)
			}
		}
	}
}

// told is a test that gives away what it is failed with.
type told struct {
	testing.TB
	failures chan string
}

func (t told) Errorf(format string, args ...any) { t.failures <- fmt.Sprintf(format, args...) }

func TestServerFailsTheTestOfADisorderlyRequest(t *testing.T) {
	failures := make(chan string, 1)
	server := backendtest.NewServer(told{t, failures}, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{} })
	client := newClient(t, &http.Transport{})
	if _, _, err := post(t.Context(), client, server.BaseURL, `{"messages":[{"role":"tool","tool_call_id":"a"}]}`); err != nil {
		t.Fatal(err)
	}
	select {
	case failure := <-failures:
		if !strings.Contains(failure, `request 1: message 0: the result of "a"`) {
			t.Error(failure)
		}
	default:
		t.Error("nobody was told")
	}
}
