package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// mostQuestions is how many requests of a server may wait for their answers.
const mostQuestions = 100

// questions counts the requests of a server over HTTP until the server has taken the answers, each of which is
// a request of its own. The reader of a stream waits before it passes on more than mostQuestions. It is
// safe for concurrent use.
type questions struct {
	life context.Context // of the link

	mu       sync.Mutex
	open     map[string]bool // by the id of the question
	answered chan struct{}   // closed, and replaced, when the server has taken an answer
}

func newQuestions(life context.Context) *questions {
	return &questions{life: life, open: map[string]bool{}, answered: make(chan struct{})}
}

// admit returns when a message may be passed on: at once, unless it is one question too many, or its id is that of
// an open question. The error is that of the context, or of the link.
func (q *questions) admit(ctx context.Context, message []byte) error {
	id, kind := headOf(message)
	if kind != isQuestion {
		return nil
	}
	for {
		q.mu.Lock()
		isFree := len(q.open) < mostQuestions && !q.open[id]
		if isFree {
			q.open[id] = true
		}
		answered := q.answered
		q.mu.Unlock()
		if isFree {
			return nil
		}
		select {
		case <-answered:
		case <-ctx.Done():
			return ctx.Err()
		case <-q.life.Done():
			return q.life.Err()
		}
	}
}

// hold counts a question while its answer is sent, also when it is sent to another address again.
func (q *questions) hold(id string) (release func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[id] = true
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, id)
		close(q.answered)
		q.answered = make(chan struct{})
	})
}

// messageKind is what a message needs of its receiver.
type messageKind int

const (
	isOther    messageKind = iota // a notification, or no message
	isQuestion                    // a request that wants an answer
	isAnswer
)

// headOf returns the id of a message in one form: the SDK answers 1.0 as 1.
func headOf(message []byte) (id string, kind messageKind) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	var value any
	if json.Unmarshal(message, &head) != nil || json.Unmarshal(head.ID, &value) != nil {
		return "", isOther
	}
	switch value := value.(type) {
	case string:
		id = strconv.Quote(value)
	case float64:
		id = strconv.FormatInt(int64(value), 10)
	default:
		return "", isOther
	}
	if len(head.Method) > 0 {
		return id, isQuestion
	}
	return id, isAnswer
}

// sentMessage returns the message that a request sends, nil for none.
func sentMessage(req *http.Request) []byte {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	message, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return message
}
