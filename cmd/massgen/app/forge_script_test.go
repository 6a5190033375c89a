package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// forge FILE OLD NEW changes a session's export as somebody would who means ill: each text that
// has OLD has NEW in its place, and all hashes are right again.
func cmdForge(ts *testscript.TestScript, _ bool, args []string) {
	file, from, to := ts.MkAbs(args[0]), args[1], args[2]
	data, err := os.ReadFile(file)
	ts.Check(err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	all := strings.Join(lines[:len(lines)-1], "")
	forged := 0
	for _, line := range lines {
		var text struct{ Text string }
		ts.Check(json.Unmarshal([]byte(line), &text))
		if !strings.Contains(text.Text, from) {
			continue
		}
		changed := strings.ReplaceAll(text.Text, from, to)
		all = strings.ReplaceAll(all, quoted(ts, text.Text), quoted(ts, changed))
		all = strings.ReplaceAll(all, ref(text.Text), ref(changed))
		all = strings.ReplaceAll(all, sum(text.Text), sum(changed))
		forged++
	}
	if forged == 0 {
		ts.Fatalf("no text of %s has %s", args[0], from)
	}
	var last map[string]any
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	last["sha256"] = sum(all)
	end, err := json.Marshal(last)
	ts.Check(err)
	ts.Check(os.WriteFile(file, []byte(all+string(end)+"\n"), 0o600))
}

// alter FILE STATEMENTS… changes a store past the program.
func cmdAlter(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	for _, statement := range args[1:] {
		if err == nil {
			_, err = db.ExecContext(context.Background(), statement)
		}
	}
	ts.Check(errors.Join(err, db.Close()))
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// ref is a text's reference as events have it.
func ref(text string) string { return fmt.Sprintf(`{"sha256":"%s","bytes":%d}`, sum(text), len(text)) }

// quoted is a text within JSON, as the program writes it.
func quoted(ts *testscript.TestScript, text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	ts.Check(enc.Encode(text))
	return strings.TrimSuffix(b.String(), "\n")
}
