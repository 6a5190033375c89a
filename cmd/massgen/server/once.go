package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/sessions"
)

// onceKey is what the header Idempotency-Key makes of a request: of all with the same key and token
// only the first begins a turn.
type onceKey struct {
	// id is a hash of the key and the token, body one of the request's body, once that is read.
	id   string
	body hash.Hash
}

// onceHeader has the key. mostKey is the length of the longest one.
const (
	onceHeader = "Idempotency-Key"
	mostKey    = 255
)

// onceOf returns the key of a request, nil for none. It comes before the body is read.
func onceOf(r *http.Request) (*onceKey, error) {
	key := r.Header.Get(onceHeader)
	if key == "" {
		return nil, nil
	}
	if len(key) > mostKey {
		return nil, badRequest(onceHeader, onceHeader+" has more than "+strconv.Itoa(mostKey)+" characters")
	}
	sum := sha256.Sum256([]byte(r.URL.Path + "\x00" + r.Header.Get("Authorization") + "\x00" + key))
	once := &onceKey{id: hex.EncodeToString(sum[:16]), body: sha256.New()}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, once.body), r.Body}
	return once, nil
}

// sessionOfKey is the id of the session that a request with a key begins, by its name.
func (q request) sessionOfKey(ctx context.Context) string {
	id := "once-" + q.once.id
	c, err := converse(q.messages)
	if user := userOf(c.system); err == nil && user != "" && !callerOf(ctx).owns {
		return sessionOfUser(user, id)
	}
	return id
}

func (k *onceKey) bodySum() string { return hex.EncodeToString(k.body.Sum(nil)[:16]) }

// check refuses a request whose key another body came with.
func (k *onceKey) check(body string) error {
	if body == k.bodySum() {
		return nil
	}
	return refusal{
		status: http.StatusUnprocessableEntity, param: onceHeader, code: "idempotency_key_reused",
		message: "another request was sent with this " + onceHeader + ": take a new key for a new request",
	}
}

// asking is what a session keeps of the request that has begun one of its turns.
type asking struct {
	// Key and Body are a onceKey's, empty without one.
	Key  string `json:"key,omitempty"`
	Body string `json:"body,omitempty"`
	// The rest is of requests for responses. IsDeleted says that the response was deleted.
	Previous     string            `json:"previous,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	IsBackground bool              `json:"background,omitempty"`
	Format       json.RawMessage   `json:"format,omitempty"` // of the answer; empty for a text
	IsDeleted    bool              `json:"deleted,omitempty"`
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

// MetaRequest begins the keys of a session's metadata that have what is kept of requests; a turn's
// number follows.
const MetaRequest = "massgen:request:"

// mostAskings is of how many turns of a session requests are kept.
const mostAskings = 100

// askingsOf returns what a session keeps of requests, by the number of the turn.
func askingsOf(s sessions.Session) map[int]asking {
	all := map[int]asking{}
	for key, value := range s.Metadata {
		text, isRequest := strings.CutPrefix(key, MetaRequest)
		number, err := strconv.Atoi(text)
		var a asking
		if isRequest && err == nil && json.Unmarshal([]byte(value), &a) == nil {
			all[number] = a
		}
	}
	return all
}

// askings begin turns, and keep what their requests said. They are safe for concurrent use.
type askings struct {
	server *Server
	seed   maphash.Seed
	bySum  [64]sync.Mutex // held while a turn begins in one of the sessions with a sum

	mu     sync.Mutex
	begins map[string]*beginning // by the key's id
}

// beginning is a request with a key that is about to begin its turn.
type beginning struct {
	body string
	over chan struct{} // closed when the rest is there
	run  *run
	view *view // of the first request
	err  error
}

func newAskings(s *Server) *askings {
	return &askings{server: s, seed: maphash.MakeSeed(), begins: map[string]*beginning{}}
}

// start begins the turn of a request, or goes on with it, or returns the one that the same request
// has begun before.
func (a *askings) start(ctx context.Context, q request) (*run, *view, error) {
	if q.once == nil {
		return a.server.start(ctx, q)
	}
	a.mu.Lock()
	b := a.begins[q.once.id]
	isFirst := b == nil
	if isFirst {
		b = &beginning{body: q.once.bodySum(), over: make(chan struct{})}
		a.begins[q.once.id] = b
	}
	a.mu.Unlock()
	if isFirst {
		// Who sends a key may come back for the answer, so that the turn goes on without them.
		b.run, b.view, b.err = a.startOnce(context.WithoutCancel(ctx), q)
		a.mu.Lock()
		delete(a.begins, q.once.id)
		a.mu.Unlock()
		close(b.over)
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
	return b.run, b.run.newView(), nil
}

// startOnce starts a request with a key, unless a session has its turn.
func (a *askings) startOnce(ctx context.Context, q request) (*run, *view, error) {
	q.background = true
	_, session, number, isResult, err := resultsOf(q.messages)
	if err != nil {
		return nil, nil, err
	}
	if isResult {
		r, v, err := a.server.start(ctx, q)
		if known := (refusal{}); errors.As(err, &known) && known.status == http.StatusConflict {
			return a.again(ctx, turnPlace{q.model, session, number}) // the results were sent before
		}
		return r, v, err
	}
	own, err := a.server.sessionID(ctx, cmp.Or(q.session, q.sessionOfKey(ctx)))
	if err != nil {
		return nil, nil, err
	}
	places := []string{own}
	if q.previous != nil {
		places = append(places, q.previous.session)
	} else {
		q.session = own
	}
	for _, session := range places {
		number, err := a.begun(ctx, session, q)
		if err != nil {
			return nil, nil, err
		}
		if number == 0 {
			continue
		}
		r, v, err := a.again(ctx, turnPlace{q.model, session, number})
		if err != nil || r != nil {
			return r, v, err
		}
	}
	return a.server.start(ctx, q)
}

// again returns the run of a turn that a request has begun before, nil if it is not there.
func (a *askings) again(ctx context.Context, p turnPlace) (*run, *view, error) {
	r, err := finder{a.server}.find(ctx, p)
	if err != nil || r == nil {
		return nil, nil, err
	}
	if r.past != nil && r.past.isRunning() {
		return nil, nil, sessions.ErrBusy
	}
	return r, r.newView(), nil
}

// begun returns the number of the turn that a request with a key has begun in a session, 0 for none.
func (a *askings) begun(ctx context.Context, session string, q request) (int, error) {
	kept, err := a.server.Store.Session(ctx, session)
	if err != nil {
		if errors.Is(err, sessions.ErrNoSession) {
			err = nil
		}
		return 0, err
	}
	for number, asked := range askingsOf(kept) {
		if asked.Key == q.once.id {
			return number, q.once.check(asked.Body)
		}
	}
	return 0, nil
}

// said is what is kept of the request that has begun a turn. It is deleted where nothing is kept of
// the session.
func (a *askings) said(ctx context.Context, p turnPlace) (asking, error) {
	session, err := a.server.Store.Session(ctx, p.session)
	if errors.Is(err, sessions.ErrNoSession) {
		return asking{IsDeleted: true}, nil
	}
	return askingsOf(session)[p.number], err
}

// checkPrevious refuses to go on after a turn that is not there, is not over, or is of another session
// than the request names. isLast says that its session has not gone on since.
func (a *askings) checkPrevious(ctx context.Context, p turnPlace, named string) (isLast bool, err error) {
	missing := refusal{
		status: http.StatusBadRequest, param: "previous_response_id", code: "previous_response_not_found",
		message: "previous_response_id names no response of this server",
	}
	if p == (turnPlace{}) {
		return false, missing
	}
	said, err := a.said(ctx, p)
	if err == nil && (said.IsDeleted || !a.server.mayUse(ctx, p.session)) {
		err = missing
	}
	if err != nil {
		return false, err
	}
	if named != "" {
		if named, err = a.server.sessionID(ctx, named); err != nil {
			return false, err
		}
		if named != p.session {
			return false, badRequest("previous_response_id", "previous_response_id is of another session: leave out the conversation or metadata.session_id, or previous_response_id")
		}
	}
	turn, of, err := finder{a.server}.turn(ctx, p.session, p.number)
	switch {
	case err != nil:
		return false, err
	case turn == nil:
		return false, missing
	case turn.Status == sessions.Running:
		return false, sessions.ErrBusy
	}
	return of.Turns == p.number, nil
}

// ask begins a turn, and keeps what is to be kept of its request: before the turn, where the session
// is there.
func (a *askings) ask(ctx context.Context, panel *massgen.Panel, session, question string, said *asking) (*massgen.Turn, error) {
	ctx = context.WithoutCancel(ctx)
	if said == nil {
		return panel.Ask(ctx, session, question)
	}
	lock := &a.bySum[maphash.String(a.seed, session)%uint64(len(a.bySum))]
	lock.Lock()
	defer lock.Unlock()
	before, err := a.server.Store.Session(ctx, session)
	expected := 0
	switch {
	case err == nil:
		expected = before.Turns + 1
		if err := a.keep(ctx, session, expected, *said, old(before, expected)); err != nil {
			return nil, err
		}
	case !errors.Is(err, sessions.ErrNoSession):
		return nil, err
	}
	turn, err := panel.Ask(ctx, session, question)
	if err != nil {
		if expected > 0 {
			err = errors.Join(err, a.server.Store.SetMetadata(ctx, session, forgotten(expected)))
		}
		return nil, err
	}
	if turn.Number() == expected {
		return turn, nil
	}
	var wrong map[string]string
	if expected > 0 {
		wrong = forgotten(expected)
	}
	if err := a.keep(ctx, session, turn.Number(), *said, wrong); err != nil {
		a.server.Log.Error("what a request said is not kept", "error", err)
	}
	return turn, nil
}

// keep keeps what a request said that begins a turn, together with other metadata.
func (a *askings) keep(ctx context.Context, session string, number int, said asking, beside map[string]string) error {
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	metadata := map[string]string{MetaRequest + strconv.Itoa(number): string(text)}
	for key, value := range beside {
		metadata[key] = value
	}
	return a.server.Store.SetMetadata(ctx, session, metadata)
}

// forgotten is metadata that forgets what is kept of requests.
func forgotten(numbers ...int) map[string]string {
	metadata := map[string]string{}
	for _, n := range numbers {
		metadata[MetaRequest+strconv.Itoa(n)] = ""
	}
	return metadata
}

// old forgets what a session keeps of requests that are long ago, or of turns that it does not have.
func old(s sessions.Session, next int) map[string]string {
	var gone []int
	for number := range askingsOf(s) {
		if number <= next-mostAskings || number > next {
			gone = append(gone, number)
		}
	}
	slices.Sort(gone)
	return forgotten(gone...)
}
