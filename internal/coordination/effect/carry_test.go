package effect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestCarriedAreWholeMessages: messages without own tools, calls that never came back and JSON objects are omitted,
// and so is what was told beside a result.
func TestCarriedAreWholeMessages(t *testing.T) {
	message := func(id string) effect.Entry {
		return effect.Entry{Kind: effect.Assistant, Text: blob.Ref{SHA256: id, Bytes: 100}}
	}
	result := func(id, name string) effect.Entry {
		return effect.Entry{Kind: effect.Result, Text: blob.Ref{SHA256: id, Bytes: 50}, CallID: id, Name: name}
	}
	told := result("b", "search")
	told.Notes, told.Update, told.Final, told.ElapsedMS = []blob.Ref{{}}, nil, true, 9
	denied := effect.Entry{Kind: effect.Result, CallID: "c", Name: "shell", Notice: &effect.Notice{Code: effect.ToolsWithdrawn}}
	inJSON := result("e", "search")
	inJSON.JSON = true
	lost := effect.Entry{Kind: effect.Result, CallID: "f", Name: "search"}
	step := []effect.Entry{
		{Kind: effect.FinalTurn},
		message("1"), {Kind: effect.Reminder},
		message("2"), result("a", effect.Vote), told, denied,
		message("3"), result("d", effect.NewAnswer),
		message("4"), inJSON,
		message("5"), lost,
	}
	earlier := []effect.Entry{message("0"), result("z", "search")}
	all := []effect.Entry{message("0"), result("z", "search"), message("2"), result("b", "search"), denied}
	for bytes, want := range map[int][]effect.Entry{600: all, 599: all[2:], 450: all[2:], 449: {}} {
		if diff := cmp.Diff(want, effect.Carry{Bytes: bytes}.With(earlier, step)); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", bytes, diff)
		}
	}
}
