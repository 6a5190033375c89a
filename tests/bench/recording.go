package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A recording is a line of JSON, the lengths of the bodies by round, and then the bodies.

// writeRecording writes the bodies of each round.
func writeRecording(w io.Writer, rounds [][][]byte) error {
	lengths := make([][]int, len(rounds))
	for i, bodies := range rounds {
		lengths[i] = []int{}
		for _, body := range bodies {
			lengths[i] = append(lengths[i], len(body))
		}
	}
	if err := json.NewEncoder(w).Encode(lengths); err != nil {
		return fmt.Errorf("write the lengths of a recording: %w", err)
	}
	for _, bodies := range rounds {
		for _, body := range bodies {
			if _, err := w.Write(body); err != nil {
				return fmt.Errorf("write a recorded body: %w", err)
			}
		}
	}
	return nil
}

// recordedBody is where a body stands in a recording.
type recordedBody struct {
	offset int64
	length int
}

// read returns the body's bytes. It may be called at once for many bodies of a recording.
func (b recordedBody) read(from io.ReaderAt) ([]byte, error) {
	body := make([]byte, b.length)
	if _, err := from.ReadAt(body, b.offset); err != nil {
		return nil, fmt.Errorf("read a recorded body: %w", err)
	}
	return body, nil
}

// openRecording returns an open recording, which the caller closes, and where its bodies
// are, by round. It reads no body.
func openRecording(path string) (*os.File, [][]recordedBody, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open a recording: %w", err)
	}
	line, err := bufio.NewReader(file).ReadBytes('\n')
	var lengths [][]int
	if err == nil {
		err = json.Unmarshal(line, &lengths)
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("read the lengths of a recording: %w", err)
	}
	offset := int64(len(line))
	rounds := make([][]recordedBody, len(lengths))
	for i := range lengths {
		for _, length := range lengths[i] {
			rounds[i] = append(rounds[i], recordedBody{offset, length})
			offset += int64(length)
		}
	}
	return file, rounds, nil
}
