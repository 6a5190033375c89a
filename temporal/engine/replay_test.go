package engine

import (
	"log/slog"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestRecordedHistoriesReplay: a turn that was begun by the program as it was goes on with
// the program as it is. They are recorded by scripts/temporal.sh ./cmd/massgen-temporal
// -kill-everywhere -update-histories, in the commit that means to change them.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("there are %d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
			if err := r.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), file); err != nil {
				t.Error(err)
			}
		})
	}
}
