package prices_test

import (
	"slices"
	"testing"

	"github.com/massgen/massgen/internal/models/prices"
)

func TestNamesOfModels(t *testing.T) {
	table, err := prices.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, claude := table.Names(""), table.Names("claude")
	if len(claude) == 0 || len(claude) >= len(all) || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("all are %q, those of claude %q", all, claude)
	}
	for _, name := range claude {
		if _, ok := table.Lookup("claude", name); !ok {
			t.Errorf("claude has no %s", name)
		}
	}
}
