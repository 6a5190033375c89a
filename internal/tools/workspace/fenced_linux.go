package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// runFenced runs the program that a file describes, and exits with its status. When this process is killed, the
// supervisor kills the program with its children.
func runFenced(file string) {
	var f Fenced
	description, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(description, &f)
	}
	var c process
	if err == nil {
		c, err = f.process()
	}
	var said report
	if err == nil {
		said, err = launch(context.Background(), c, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "massgen: error: %v\n", err)
		os.Exit(statusCannotStart)
	}
	os.Exit(said.Exit)
}

// statusCannotStart is the exit status for a program that did not start, as a shell has it.
const statusCannotStart = 126
