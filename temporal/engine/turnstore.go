package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.temporal.io/sdk/log"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// turnStore is the store of one turn on this worker. It holds the texts that effects put until their
// results are stored, in one transaction with them: nothing names them before. Whatever it does
// while the store is away is repeated, until over ends: a call's result is paid for, and only this
// worker has it. It is safe for concurrent use.
type turnStore struct {
	Store
	texts  Texts
	over   context.Context
	recent *recentTexts

	mu sync.Mutex
	// unstored are texts that were put and are not in the store yet. stored are the texts that this
	// worker has stored for this turn: while it holds its session, no sweep forgets them.
	unstored map[blob.Ref][]byte
	stored   map[blob.Ref]bool

	fetching sync.Mutex
	looking  batches[looked, found]
	keeping  batches[kept, keptOrNot]
}

// looked is a search for the result of an effect, and found what it has found.
type looked struct {
	session string
	turn    int
	key     string
}

type found struct {
	result []byte // nil if there is none
	isHeld bool
}

// kept is a result to store, and keptOrNot the one that stands.
type kept struct {
	looked
	result []byte
}

type keptOrNot struct {
	stands []byte
	err    error
}

func newTurnStore(s Store, texts Texts, over context.Context, recent *recentTexts) *turnStore {
	t := &turnStore{Store: s, texts: texts, over: over, recent: recent, unstored: map[blob.Ref][]byte{}, stored: map[blob.Ref]bool{}}
	t.looking.answer, t.keeping.answer = t.look, t.keep
	return t
}

// Put implements agents.Blobs.
func (s *turnStore) Put(_ context.Context, data []byte) (blob.Ref, error) {
	data = slices.Clone(s.Mask(data))
	ref := sessions.RefOf(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stored[ref] {
		s.unstored[ref] = data
	}
	return ref, nil
}

// Get implements agents.Blobs.
func (s *turnStore) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	s.mu.Lock()
	data, isUnstored := s.unstored[ref]
	s.mu.Unlock()
	if isUnstored {
		return data, nil
	}
	if data, ok := s.recent.get(ref); ok {
		return data, nil
	}
	data, err := again(ctx, s.over, func(ctx context.Context) ([]byte, error) { return s.Store.Get(ctx, ref) })
	if err == nil {
		s.recent.add(ref, data)
	}
	return data, err
}

// Journal implements coordinator.Store.
func (s *turnStore) Journal(ctx context.Context, session string, turn, from int) ([][]byte, error) {
	return again(ctx, s.over, func(ctx context.Context) ([][]byte, error) { return s.Store.Journal(ctx, session, turn, from) })
}

// fetch reads the texts that are not at hand with one query, for the calls of Get that follow.
func (s *turnStore) fetch(ctx context.Context, refs []blob.Ref) error {
	s.fetching.Lock() // the effects of a round want the same texts
	defer s.fetching.Unlock()
	missing := slices.DeleteFunc(slices.Clone(refs), func(ref blob.Ref) bool {
		s.mu.Lock()
		_, isUnstored := s.unstored[ref]
		s.mu.Unlock()
		_, isRecent := s.recent.get(ref)
		return isUnstored || isRecent || ref == blob.Ref{} || ref.Bytes > mostRecentText
	})
	if len(missing) < 2 {
		return nil
	}
	found, err := again(ctx, s.over, func(ctx context.Context) (map[blob.Ref][]byte, error) { return s.texts.GetAll(ctx, missing) })
	for ref, data := range found {
		s.recent.add(ref, data)
	}
	return err
}

// putAll stores texts at once, and returns their references in the same order.
func (s *turnStore) putAll(ctx context.Context, texts [][]byte) ([]blob.Ref, error) {
	refs, err := again(ctx, s.over, func(ctx context.Context) ([]blob.Ref, error) { return s.texts.PutAll(ctx, texts) })
	for i, ref := range refs {
		s.recent.add(ref, s.Mask(texts[i]))
	}
	return refs, err
}

// flush stores the texts that were put.
func (s *turnStore) flush(ctx context.Context) error {
	return s.store(func(texts [][]byte) error {
		if len(texts) == 0 {
			return nil
		}
		_, err := again(ctx, s.over, func(ctx context.Context) ([]blob.Ref, error) { return s.texts.PutAll(ctx, texts) })
		return err
	})
}

// store calls write with the texts that are not stored. When write has stored them, they are at hand.
func (s *turnStore) store(write func(texts [][]byte) error) error {
	s.mu.Lock()
	unstored := maps.Clone(s.unstored)
	s.mu.Unlock()
	if err := write(slices.Collect(maps.Values(unstored))); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, data := range unstored {
		s.recent.add(ref, data)
		s.stored[ref] = true
		delete(s.unstored, ref)
	}
	return nil
}

// Begin implements coordinator.Store.
func (s *turnStore) Begin(ctx context.Context, session, question string) (sessions.Begun, error) {
	b, err := s.Store.Begin(ctx, session, question)
	s.heldAnew()
	return b, err
}

// Resume implements Store.
func (s *turnStore) Resume(ctx context.Context, session string) (sessions.Begun, error) {
	b, err := s.Store.Resume(ctx, session)
	s.heldAnew()
	return b, err
}

// heldAnew forgets which texts are stored: a sweep may have come before this hold.
func (s *turnStore) heldAnew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stored)
}

// AppendAt implements Store.
func (s *turnStore) AppendAt(ctx context.Context, session string, turn, place int, events ...[]byte) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.Store.AppendAt(ctx, session, turn, place, events...)
}

// Append implements coordinator.Store.
func (s *turnStore) Append(ctx context.Context, session string, turn int, events ...[]byte) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.Store.Append(ctx, session, turn, events...)
}

// Commit implements coordinator.Store.
func (s *turnStore) Commit(ctx context.Context, session string, turn int, e sessions.Ended) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.Store.Commit(ctx, session, turn, e)
}

// End implements coordinator.Store.
func (s *turnStore) End(ctx context.Context, session string, turn int, e sessions.Ended) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.Store.End(ctx, session, turn, e)
}

// EndWith implements coordinator.Store.
func (s *turnStore) EndWith(ctx context.Context, session string, turn int, e sessions.Ended, events ...[]byte) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	return s.Store.EndWith(ctx, session, turn, e, events...)
}

// result returns the stored result of an effect, if there is one, and whether the session is held
// for its turn.
func (s *turnStore) result(ctx context.Context, session string, turn int, key effect.Key) (r result, isKept, isHeld bool, err error) {
	f, err := s.looking.ask(ctx, looked{session, turn, key.String()})
	if err != nil || f.result == nil {
		return r, false, f.isHeld, err
	}
	return r, true, f.isHeld, json.Unmarshal(f.result, &r)
}

// look answers searches.
func (s *turnStore) look(list []looked) ([]found, error) {
	keys := make([]string, len(list))
	for i, l := range list {
		keys[i] = l.key
	}
	results, isHeld, err := s.Results(s.over, list[0].session, list[0].turn, keys)
	if err != nil {
		return nil, fmt.Errorf("find out whether a result of session %s is stored: %w", list[0].session, err)
	}
	answers := make([]found, len(list))
	for i, key := range keys {
		answers[i] = found{results[key], isHeld}
	}
	return answers, nil
}

// keepResult stores an effect's result with the texts that it names, and returns the first stored
// one, which counts. It calls stored when the store has it. A result that cannot be stored counts
// all the same: repeating the effect would cost more. The error is for texts that cannot be stored.
func (s *turnStore) keepResult(ctx context.Context, l looked, r result, log log.Logger, stored func()) (result, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	k, err := s.keeping.ask(context.WithoutCancel(ctx), kept{l, data})
	if err = errors.Join(err, k.err); err != nil {
		log.Warn("a result was not kept", "call", l.key, "error", err)
		if sessions.IsAway(err) { // its texts are not stored either
			return r, err
		}
		return r, s.flush(context.WithoutCancel(ctx))
	}
	stored()
	r = result{}
	return r, json.Unmarshal(k.stands, &r)
}

// keep stores results, and all texts that were put. If that fails, it tries each result alone.
func (s *turnStore) keep(list []kept) ([]keptOrNot, error) {
	results := map[string][]byte{}
	for _, k := range list {
		if results[k.key] == nil {
			results[k.key] = k.result
		}
	}
	var stand map[string][]byte
	err := s.store(func(texts [][]byte) (err error) {
		stand, err = again(s.over, s.over, func(ctx context.Context) (map[string][]byte, error) {
			return s.KeepResults(ctx, list[0].session, list[0].turn, results, texts)
		})
		return err
	})
	if err != nil && len(list) == 1 {
		return []keptOrNot{{err: err}}, nil
	}
	if sessions.IsAway(err) { // it was waited for already
		return nil, err
	}
	answers := make([]keptOrNot, len(list))
	for i, k := range list {
		if answers[i].stands = stand[k.key]; err == nil {
			continue
		}
		alone, err := s.keep(list[i : i+1])
		if err != nil {
			return nil, err
		}
		answers[i] = alone[0]
	}
	return answers, nil
}

// again repeats an operation of a store until the store is not away, or one of the contexts
// ends.
func again[T any](ctx, over context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(over, cancel)()
	return sessions.Again(ctx, storePatience, func() (T, error) { return do(ctx) })
}
