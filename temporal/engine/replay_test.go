package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// TestRecordedHistoriesReplay: this program goes on with a turn that an earlier version began. A commit that means to
// change the histories of turns by texts records them anew, with scripts/temporal.sh ./cmd/massgen-temporal
// -update-histories. The histories of whole turns cannot be recorded any more, since no client begins such a turn.
func TestRecordedHistoriesReplay(t *testing.T) {
	whole, err := filepath.Glob("testdata/histories/whole_turns/*.json")
	if err != nil || len(whole) < 20 {
		t.Fatalf("there are %d histories of whole turns, %v", len(whole), err)
	}
	byTexts, err := filepath.Glob("testdata/histories/turns_by_texts/*.json")
	if err != nil || len(byTexts) < 20 {
		t.Fatalf("there are %d histories of turns by texts, %v", len(byTexts), err)
	}
	for _, file := range slices.Concat(whole, byTexts) {
		t.Run(strings.TrimPrefix(file, "testdata/histories/"), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
			if err := r.ReplayWorkflowHistoryFromJSONFile(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), file); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReplayNeedsNoInputs: the store may forget texts as soon as the turn has ended, and then a worker may have to
// replay the turn's workflow to end it.
func TestReplayNeedsNoInputs(t *testing.T) {
	data, err := os.ReadFile("testdata/histories/turns_by_texts/consensus.json")
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.HistoryFromJSON(bytes.NewReader(data), client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inputs := 0
	for _, ev := range h.GetEvents() {
		for _, input := range ev.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads() {
			inputs++
			input.Metadata = map[string][]byte{"encoding": []byte("json/protobuf"), "messageType": []byte("temporal.api.sdk.v1.ExternalStorageReference")}
			input.Data = []byte(`{"driverName": "massgen.texts", "claimData": {"claim": "{}"}}`)
			input.ExternalPayloads = []*commonpb.Payload_ExternalPayloadDetails{{SizeBytes: 1 << 20}}
		}
	}
	store := &forgetful{}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		ExternalStorage: converter.ExternalStorage{Drivers: []converter.StorageDriver{largePayloads{store: store}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	replayer.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
	if err := replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h); err != nil {
		t.Error(err)
	}
	if asked := int(store.asked.Load()); inputs == 0 || asked != inputs {
		t.Errorf("the store was asked for %d of %d inputs", asked, inputs)
	}
}

// forgetful is a store that has forgotten all texts, and counts who asks.
type forgetful struct {
	Store
	asked atomic.Int64
}

func (s *forgetful) Get(_ context.Context, ref blob.Ref) ([]byte, error) {
	s.asked.Add(1)
	return nil, sessions.NoText(ref)
}

// TestSignalAtTheEndOfARun comes in the workflow task in which the turn would go on as a new
// run: that run would not hear of it, so this one goes on.
func TestSignalAtTheEndOfARun(t *testing.T) {
	const file = "testdata/histories/turns_by_texts/new_runs_before.json"
	for name, c := range map[string]struct{ value, begins string }{ // what a run that goes on begins next
		noteSignal:      {`{"turn":1,"note":"In French"}`, keepNoteName},
		interruptSignal: {`{"turn":1}`, performName},
		pauseSignal:     {`{"turn":1,"pause":true}`, keepName},
		dismissSignal:   {`{"turn":1,"agent":"ada"}`, performName},
		"":              {},
	} {
		h, err := client.HistoryFromJSON(strings.NewReader(signalledLate(t, file, name, c.value)), client.HistoryJSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(play, workflow.RegisterOptions{Name: workflowName})
		err = replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
		if goesOn := err != nil; goesOn != (name != "") || goesOn && !strings.Contains(err.Error(), c.begins) {
			t.Errorf("signal %q: %v", name, err)
		}
	}
}

// signalledLate is a history with a signal before the start of its last workflow task, as JSON.
func signalledLate(t *testing.T, file, name, value string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var h struct {
		Events []map[string]any `json:"events"`
	}
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	if name != "" {
		at := len(h.Events) - 1
		for h.Events[at]["eventType"] != "EVENT_TYPE_WORKFLOW_TASK_STARTED" {
			at--
		}
		for _, ev := range h.Events[at:] {
			shift(ev, at)
		}
		input := map[string]any{"payloads": []any{map[string]any{
			"metadata": map[string]any{"encoding": []byte("json/plain")}, "data": []byte(value),
		}}}
		h.Events = slices.Insert(h.Events, at, map[string]any{
			"eventId": fmt.Sprint(at + 1), "eventTime": h.Events[at]["eventTime"], "eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED",
			"workflowExecutionSignaledEventAttributes": map[string]any{"signalName": name, "input": input},
		})
	}
	data, err = json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// shift adds one to all numbers of events after so many, and to those of what is named by them.
func shift(v any, after int) {
	fields, ok := v.(map[string]any)
	if !ok {
		return
	}
	for key, value := range fields {
		text, isText := value.(string)
		n, err := strconv.Atoi(text)
		if isText && err == nil && n > after && (strings.HasSuffix(strings.ToLower(key), "eventid") || key == "timerId" || key == "activityId") {
			fields[key] = strconv.Itoa(n + 1)
		}
		shift(value, after)
	}
}
