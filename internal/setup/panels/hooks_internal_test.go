package panels

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
)

// TestHooksRunAfterThoseOfThePanel, and a refusal of the panel's own ends the row.
func TestHooksRunAfterThoseOfThePanel(t *testing.T) {
	var ran []string
	var refusal error
	before := func(name string, err *error) func(context.Context, *coordinator.Turn) error {
		return func(context.Context, *coordinator.Turn) error {
			ran = append(ran, name)
			return *err
		}
	}
	after := func(name string) func(context.Context, *coordinator.Turn, report.Result) error {
		return func(context.Context, *coordinator.Turn, report.Result) error {
			ran = append(ran, name)
			return nil
		}
	}
	opts := coordinator.Options{BeforeTurn: before("own before", &refusal), AfterTurn: after("own after")}
	s := Settings{
		BeforeTurn: []func(context.Context, *coordinator.Turn) error{before("before", new(error))},
		AfterTurn:  []func(context.Context, *coordinator.Turn, report.Result) error{after("after")},
	}
	s.addHooks(&opts)
	if err := errors.Join(opts.BeforeTurn(t.Context(), nil), opts.AfterTurn(t.Context(), nil, report.Result{})); err != nil {
		t.Error(err)
	}
	if want := []string{"own before", "before", "own after", "after"}; !slices.Equal(ran, want) {
		t.Errorf("the hooks ran as %q, want %q", ran, want)
	}
	ran, refusal = nil, errors.New("not now")
	if err := opts.BeforeTurn(t.Context(), nil); !errors.Is(err, refusal) || !slices.Equal(ran, []string{"own before"}) {
		t.Errorf("after %q the refusal is %v", ran, err)
	}
}
