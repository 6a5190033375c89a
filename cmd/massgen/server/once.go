package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/sleep"
	"github.com/massgen/massgen/sessions"
)

// onceKey is the header Idempotency-Key of a request. Of all requests with the same key and token only
// the first begins a turn.
type onceKey struct {
	// id is a hash of the key and the token. body is the hash of the request's body once it is read.
	id   string
	body hash.Hash
}

// onceHeader has the key. mostKey is the length of the longest key.
const (
	onceHeader = "Idempotency-Key"
	mostKey    = 255
)

// onceOf returns the key of a request, nil for none. Callers call it before they read the body.
func onceOf(r *http.Request) (*onceKey, error) {
	key := r.Header.Get(onceHeader)
	if key == "" {
		return nil, nil
	}
	if len(key) > mostKey {
		return nil, badRequest(onceHeader, onceHeader+" has more than "+strconv.Itoa(mostKey)+" characters")
	}
	authorization := r.Header.Get("Authorization")
	if token, isBearer := bearer(r); isBearer {
		authorization = "Bearer " + token
	}
	sum := sha256.Sum256([]byte(r.URL.Path + "\x00" + authorization + "\x00" + key))
	once := &onceKey{id: hex.EncodeToString(sum[:16]), body: sha256.New()}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, once.body), r.Body}
	return once, nil
}

// sessionOfKey returns the id of the session that a request with a key begins.
func (q request) sessionOfKey(ctx context.Context) string {
	id := "once-" + q.once.id
	c, err := converse(q.messages)
	if user := userOf(c.system); err == nil && user != "" && !callerOf(ctx).owns {
		return sessionOfUser(user, id)
	}
	return id
}

func (k *onceKey) bodySum() string { return hex.EncodeToString(k.body.Sum(nil)[:16]) }

// check refuses a request whose key came with another body before.
func (k *onceKey) check(body string) error {
	if body == k.bodySum() {
		return nil
	}
	return refusal{
		status: http.StatusUnprocessableEntity, param: onceHeader, code: "idempotency_key_reused",
		message: "another request was sent with this " + onceHeader + ": take a new key for a new request",
	}
}

// keyed gives a request its key.
func (q *request) keyed(once *onceKey) {
	if once == nil {
		return
	}
	if q.said == nil {
		q.said = &asking{}
	}
	q.once, q.said.Key, q.said.Body = once, once.id, once.bodySum()
}

// starts begins the turns of requests, one turn for all requests with the same key. It is safe for
// concurrent use.
type starts struct {
	turns *turns

	mu     sync.Mutex
	begins map[string]*beginning // by the key's id
}

// beginning is a request with a key while it begins its turn.
type beginning struct {
	body string
	over chan struct{} // closed when the rest is there
	run  *run
	view *view // of the first request
	err  error
}

// read reads a request in the form of q, and starts it.
func (s *starts) read(r *http.Request, q interface{ request() (request, error) }) (asked request, run *run, v *view, err error) {
	once, err := onceOf(r)
	if err == nil {
		err = readBody(r, q)
	}
	if err == nil {
		asked, err = q.request()
	}
	if err == nil {
		asked.messages, err = s.turns.resolve(r.Context(), asked.messages)
	}
	if err == nil {
		asked.keyed(once)
		err = s.turns.askings.check(asked.said)
	}
	if err == nil {
		run, v, err = s.start(r.Context(), asked)
	}
	if err == nil {
		v.replyTo(run.place(), asked.messages)
		returnBody(r.Context())
	}
	return asked, run, v, err
}

// start begins the turn of a request, or goes on with it, or returns the turn that the same request
// began before.
func (s *starts) start(ctx context.Context, q request) (*run, *view, error) {
	if q.once == nil {
		return s.turns.start(ctx, q)
	}
	s.mu.Lock()
	b := s.begins[q.once.id]
	isFirst := b == nil
	if isFirst {
		b = &beginning{body: q.once.bodySum(), over: make(chan struct{})}
		s.begins[q.once.id] = b
	}
	s.mu.Unlock()
	if isFirst {
		// A client with a key may come back for the answer, so the turn outlives this request.
		b.err = errors.New("the turn did not begin") // if startOnce panics
		defer func() {
			s.mu.Lock()
			delete(s.begins, q.once.id)
			s.mu.Unlock()
			close(b.over)
		}()
		b.run, b.view, b.err = s.startOnce(context.WithoutCancel(ctx), q)
		return b.run, b.view, b.err
	}
	if err := q.once.check(b.body); err != nil {
		return nil, nil, err
	}
	select {
	case <-b.over:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if b.err != nil {
		return nil, nil, b.err
	}
	return b.run, b.run.newView(s.turns.respond.redact), nil
}

// startOnce starts a request with a key, unless a session has its turn.
func (s *starts) startOnce(ctx context.Context, q request) (*run, *view, error) {
	q.background = true
	reply, isReply, err := s.turns.replyOf(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if isReply {
		r, v, err := s.turns.start(ctx, q)
		if known := (refusal{}); errors.As(err, &known) && known.status == http.StatusConflict {
			return s.again(ctx, turnPlace{reply.at, q.model}) // the results were sent before
		}
		return r, v, err
	}
	own, err := sessionID(ctx, cmp.Or(q.session, q.sessionOfKey(ctx)))
	if err != nil {
		return nil, nil, err
	}
	among := []string{own}
	if q.previous != nil {
		among = append(among, q.previous.session)
	} else {
		q.session = own
	}
	for end := time.Now().Add(oncePatience); ; {
		r, v, err := s.begunBefore(ctx, q, among)
		if err == nil && r == nil {
			r, v, err = s.turns.start(ctx, q)
		}
		// Another server may begin the turn of the same request just now.
		isElsewhere := s.turns.playedElsewhere && errors.Is(err, sessions.ErrBusy)
		if !isElsewhere || time.Now().After(end) || sleep.For(ctx, oncePause) != nil {
			return r, v, err
		}
	}
}

// oncePatience is how long a request with a key waits for another server that begins its turn, and oncePause the
// time between two looks.
const (
	oncePatience = 10 * time.Second
	oncePause    = 200 * time.Millisecond
)

// begunBefore returns the run of a turn that a request with the same key began in one of some sessions, nil if none
// did.
func (s *starts) begunBefore(ctx context.Context, q request, among []string) (*run, *view, error) {
	for _, session := range among {
		number, err := s.turns.askings.begun(ctx, session, q.once)
		if err != nil {
			return nil, nil, err
		}
		if number == 0 {
			continue
		}
		r, v, err := s.again(ctx, turnPlace{place{session, number}, q.model})
		if err != nil || r != nil {
			return r, v, err
		}
	}
	return nil, nil, nil
}

// again returns the run of a turn that a request began before, nil if there is no such turn.
func (s *starts) again(ctx context.Context, p turnPlace) (*run, *view, error) {
	r, err := s.turns.find(ctx, p)
	if err != nil || r == nil {
		return nil, nil, err
	}
	if r.past != nil && r.past.isRunning() {
		return nil, nil, sessions.ErrBusy
	}
	return r, r.newView(s.turns.respond.redact), nil
}
