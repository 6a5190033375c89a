package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/massgen/massgen/internal/system/charset"
)

// mcpLines passes the messages of a client on, each on its line. It answers a line that is no message with
// an error, since the SDK ends the session at such a line. One goroutine reads.
type mcpLines struct {
	in     *bufio.Reader
	out    *mcpAnswers
	closed chan struct{}
	// takesBatches reports that the client initialized a version of the protocol that has batches.
	takesBatches bool
	rest         []byte // of the message that is being read
}

func newMCPLines(in io.Reader, out *mcpAnswers) *mcpLines {
	return &mcpLines{in: bufio.NewReader(charset.NewReader(in)), out: out, closed: make(chan struct{})}
}

// answerLimit is how long the answers may take after the end of the client's input. Calls of tools get
// none: their turns go on for minutes, and end with the input.
const answerLimit = 10 * time.Second

// Read implements io.Reader.
func (l *mcpLines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if refusal := l.check(line); refusal != nil {
				if err := l.refuse(line, refusal); err != nil {
					return 0, err
				}
				continue
			}
			l.rest = append(line, '\n')
			break
		}
		if err != nil {
			l.out.wait(answerLimit, l.closed)
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *mcpLines) Close() error {
	close(l.closed)
	return nil
}

// errLongLine stands for a line whose end was skipped.
var errLongLine = []byte("too long")

// line returns the next line, which may be the last one without an end. Of a line that is too long it
// returns errLongLine, which is no message.
func (l *mcpLines) line() (line []byte, err error) {
	isLong := false
	for {
		part, err := l.in.ReadSlice('\n')
		if isLong = isLong || len(line)+len(part) > mostBody; isLong {
			line = errLongLine
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// check returns the refusal of a line that is no message, nil for a message.
func (l *mcpLines) check(line []byte) *jsonrpc.Error {
	refuse := func(code int64, format string, args ...any) *jsonrpc.Error {
		return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case bytes.Equal(line, errLongLine):
		return refuse(jsonrpc.CodeInvalidRequest, "the message has more than %d bytes", mostBody)
	case !json.Valid(line):
		return refuse(jsonrpc.CodeParseError, "the line is not valid JSON: write each message on one line")
	case line[0] == '[':
		return l.checkBatch(line)
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return refuse(jsonrpc.CodeInvalidRequest, "the line is no message of JSON-RPC 2.0: %v", err)
	}
	l.out.expect(m)
	if r, isRequest := m.(*jsonrpc.Request); isRequest && r.Method == "initialize" {
		var params struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		l.takesBatches = json.Unmarshal(r.Params, &params) == nil && slices.Contains([]string{"2024-11-05", "2025-03-26"}, params.ProtocolVersion)
	}
	return nil
}

// checkBatch returns the refusal of a batch, which the SDK would end the session for.
func (l *mcpLines) checkBatch(line []byte) *jsonrpc.Error {
	var batch []json.RawMessage
	switch err := json.Unmarshal(line, &batch); {
	case !l.takesBatches:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "this version of the protocol has no batches: send each message on its line"}
	case err != nil || len(batch) == 0:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the batch is empty"}
	}
	ids := map[any]bool{}
	var all []jsonrpc.Message
	for _, one := range batch {
		m, err := jsonrpc.DecodeMessage(one)
		if err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the batch has what is no message of JSON-RPC 2.0: %v", err)}
		}
		if r, isRequest := m.(*jsonrpc.Request); isRequest {
			id := r.ID.Raw()
			if ids[id] {
				return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the batch has the id %v twice", id)}
			}
			ids[id] = true
		}
		all = append(all, m)
	}
	for _, m := range all {
		l.out.expect(m)
	}
	return nil
}

// refuse answers a line with an error, under the line's id if it has one.
func (l *mcpLines) refuse(line []byte, why *jsonrpc.Error) error {
	var of struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &of) != nil || !isID(of.ID) {
		of.ID = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": of.ID, "error": why})
	if err == nil {
		_, err = l.out.Write(append(answer, '\n'))
	}
	return err
}

// isID reports whether a value may be the id of a request: a string or a number.
func isID(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}

// mcpAnswers writes whole lines of several writers, and knows which requests wait for an answer. It stays
// open when the protocol ends. It is safe for concurrent use.
type mcpAnswers struct {
	writing sync.Mutex // held in a write, which lasts as long as the client does not read
	out     io.Writer

	mu      sync.Mutex      // guards open
	open    map[string]bool // the ids of requests without an answer, but for calls of tools
	changed chan struct{}   // has an element after an answer
}

func newMCPAnswers(out io.Writer) *mcpAnswers {
	return &mcpAnswers{out: out, open: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// Write implements io.Writer. p is a message or a batch.
func (w *mcpAnswers) Write(p []byte) (int, error) {
	w.writing.Lock()
	n, err := w.out.Write(p)
	w.writing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	batch := []json.RawMessage{p}
	if p[0] == '[' && json.Unmarshal(p, &batch) != nil {
		return n, err
	}
	for _, one := range batch {
		if m, decodeErr := jsonrpc.DecodeMessage(one); decodeErr == nil {
			if answer, isAnswer := m.(*jsonrpc.Response); isAnswer {
				w.end(fmt.Sprint(answer.ID.Raw()))
			}
		}
	}
	return n, err
}

// Close implements io.Closer.
func (w *mcpAnswers) Close() error { return nil }

// expect notes a message of the client: a request waits for an answer, and a cancelled one gets none.
func (w *mcpAnswers) expect(m jsonrpc.Message) {
	r, isRequest := m.(*jsonrpc.Request)
	if !isRequest || r.Method == "tools/call" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.IsCall() {
		w.open[fmt.Sprint(r.ID.Raw())] = true
		return
	}
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if r.Method == "notifications/cancelled" && json.Unmarshal(r.Params, &cancelled) == nil {
		w.end(fmt.Sprint(cancelled.RequestID))
	}
}

// end removes a request. The caller holds mu.
func (w *mcpAnswers) end(id string) {
	delete(w.open, id)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// wait returns when all requests are answered, after limit, or when given is closed.
func (w *mcpAnswers) wait(limit time.Duration, given <-chan struct{}) {
	over := time.After(limit)
	for {
		w.mu.Lock()
		left := len(w.open)
		w.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-w.changed:
		case <-over:
			return
		case <-given:
			return
		}
	}
}
