package textcall_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/massgen/massgen/internal/tools/textcall"
)

// TestTheTimeOfATextGrowsWithItsLength: each text is one that a careless reader needs the square of its length for.
// Eight times the text then takes 64 times as long. The time is the thread's own, to which the work of others on the same
// processors does not count.
func TestTheTimeOfATextGrowsWithItsLength(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, part := range []string{
		"```\n{\n```\n", "<tool_call>vote<arg_key>", "<tool_call>vote<arg_key>a</arg_key><arg_value>b</arg_value><arg_key>", "{\"a\":[}", "```\n{\"name\":\"search\",\"arguments\":{}}\n```\n \n",
		"<function=vote><parameter=a>", "<tool_call>{}", "`a``b", "to=functions.vote{", "{", "[", `{"name":`, "<tool_call>", "<function=vote>", "`", "```\n", `{"a":"`, "<|channel|>commentary to=", "{}", `{"tool_calls":[`, ", ", "<arg_key>",
	} {
		short, long := least(t, part, 1<<12), least(t, part, 1<<15)
		if long > 32*short {
			t.Errorf("4 KiB of %q took %s, 32 KiB %s", part, short, long)
		}
	}
}

// least returns the shortest of three times that a thread spent on reading a text of length bytes.
func least(t *testing.T, part string, length int) time.Duration {
	t.Helper()
	text := strings.Repeat(part, length/len(part))
	shortest := time.Hour
	for range 3 {
		begun := threadTime(t)
		textcall.Read(text, tools)
		shortest = min(shortest, threadTime(t)-begun)
	}
	return max(shortest, time.Microsecond)
}

func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
