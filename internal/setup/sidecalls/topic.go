package sidecalls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/topic"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// MetaTopic is the key of a session's metadata that contains its topic.State. It has a colon, so no id
// can name it (sessions.ParseID).
const MetaTopic = "massgen:topic"

// The keys of an id for what its conversation begins with, and for the role that it is about (sessions.ParseID).
const (
	idTopic = "topic"
	idRole  = "role"
)

// ReadTopic reads the topic in a session's metadata. A session that never had another one is about the
// topic in its id. A session counts as greeted once it has messages, and its last message is as old as its
// last use.
func ReadTopic(s sessions.Session) (state topic.State, err error) {
	data := s.Metadata[MetaTopic]
	if data == "" {
		state = beginning(s.ID)
	} else if err = json.Unmarshal([]byte(data), &state); err != nil {
		state, err = topic.State{}, fmt.Errorf("read the topic of session %s: %w; /topic sets another", plain.Line(s.ID), err)
	}
	state.Greeted, state.LastMessage = s.Messages > 0, time.Time{}
	if state.Greeted {
		state.LastMessage = s.Updated
	}
	return state, err
}

// beginning returns the state of a session before anybody changes it: its id may name a topic.
func beginning(id string) (state topic.State) {
	if name := strings.TrimSpace(sessions.ParseID(id)[idTopic]); name != "" {
		state.Set(topic.Topic{Name: name})
	}
	return state
}

// LastMessage returns when the user of a session without messages last wrote: in a turn of the session that
// has no answer, or in another session of the same application. It is zero if the id names no user.
func LastMessage(ctx context.Context, store *sessions.Store, id string) (last time.Time, err error) {
	turns, err := store.Turns(ctx, id, 2) // the last one may be running
	if err != nil && !errors.Is(err, sessions.ErrNoSession) {
		return last, err
	}
	for _, t := range turns {
		if t.Ended.After(last) {
			last = t.Ended
		}
	}
	said := sessions.ParseID(id)
	if said[sessions.MetaUser] == "" {
		return last, nil
	}
	of := map[string]string{sessions.MetaUser: said[sessions.MetaUser]}
	if app := said[sessions.MetaApp]; app != "" {
		of[sessions.MetaApp] = app
	}
	others, err := store.List(ctx, sessions.Filter{Metadata: of, Limit: 5})
	for _, s := range others {
		if s.ID != id && s.Messages > 0 && s.Updated.After(last) {
			last = s.Updated
		}
	}
	return last, err
}

// Topic returns the current topic of a session, which another process may have changed, with the page
// context of the agents' system messages, which count like a client's.
func (k *Keeper) Topic(ctx context.Context, id string) (topic.State, error) {
	state, err := k.stored(ctx, id)
	for _, message := range k.pages {
		if err == nil && state.AcceptConfig(k.settings.Secrets.Redact(message)) {
			break
		}
	}
	return state, err
}

// stored returns the state that is kept of a session, in the store or here.
func (k *Keeper) stored(ctx context.Context, id string) (topic.State, error) {
	k.mu.Lock()
	state, isHere := k.unkept[id]
	k.mu.Unlock()
	if !isHere {
		state = beginning(id)
	}
	kept, err := k.Store.Session(ctx, id)
	if errors.Is(err, sessions.ErrNoSession) {
		return state, nil
	}
	if err != nil {
		return state, err
	}
	stored, err := ReadTopic(kept)
	if err != nil {
		k.settings.Log.Debug("the topic stays as it is", "error", err)
	}
	if err != nil || kept.Metadata[MetaTopic] == "" {
		stored.Current, stored.Pending, stored.Page, stored.ConfigPage = state.Current, state.Pending, state.Page, state.ConfigPage
	}
	return stored, nil
}

// SetTopic sets and stores the topic of a session. A session without a turn is not in the store yet, so
// its first turn stores the topic. If the topic cannot be stored, nothing changes.
func (k *Keeper) SetTopic(ctx context.Context, id string, state topic.State) error {
	data, err := encodeTopic(state)
	if err != nil {
		return err
	}
	err = k.Store.SetMetadata(ctx, id, map[string]string{MetaTopic: string(data)})
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case errors.Is(err, sessions.ErrNoSession):
		k.unkept[id] = state
	case err != nil:
		return fmt.Errorf("keep the topic: %w", err)
	default:
		delete(k.unkept, id)
	}
	return nil
}

// isUnkept reports whether the store lacks the topic of a session.
func (k *Keeper) isUnkept(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.unkept[id]
	return ok
}

// forget drops the state of a session that is not in the store.
func (k *Keeper) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.unkept, id)
	delete(k.confirmed, id)
}

// Confirm records that the user agrees to the topic of a session with the next question, which then
// needs no call for its topic.
func (k *Keeper) Confirm(id, question string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.confirmed[id] = question
}

// takeConfirmed reports whether Confirm was called with a session's question, and forgets it.
func (k *Keeper) takeConfirmed(id, question string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.confirmed[id] == question
	delete(k.confirmed, id)
	return known
}

// encodeTopic encodes a state for a session's metadata.
func encodeTopic(state topic.State) ([]byte, error) {
	data, err := json.Marshal(state)
	if err == nil {
		err = sessions.CheckMetadata(map[string]string{MetaTopic: string(data)})
	}
	if err != nil {
		return nil, fmt.Errorf("keep the topic: %w", err)
	}
	return data, nil
}

// askTopic returns the call for the topic of a question, unless the user has just confirmed the topic.
func (k *Keeper) askTopic(ctx context.Context, t coordinator.SidecallTurn) ([]backends.Message, []backends.Tool, error) {
	if k.takeConfirmed(t.Session, t.Question) {
		return nil, nil, nil
	}
	_, in, err := k.topicQuestion(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	messages, tools := contextbuild.TopicCall(in)
	return messages, tools, nil
}

func (k *Keeper) topicQuestion(ctx context.Context, t coordinator.SidecallTurn) (topic.State, contextbuild.TopicQuestion, error) {
	in := contextbuild.TopicQuestion{Question: t.Question}
	state, err := k.Topic(ctx, t.Session)
	if err != nil {
		return state, in, err
	}
	if current := state.Current; current != nil {
		in.Current = current.String()
	}
	if p := state.Pending; p != nil {
		in.Pending, in.PendingQuestion = p.Topic.String(), p.Question
	}
	in.History, err = k.lastExchanges(ctx, t.Session)
	return state, in, err
}

// readTopic returns the question and the sections for the agents after a change of the topic, and the
// new state, which storeTopic stores.
func (k *Keeper) readTopic(ctx context.Context, t coordinator.SidecallTurn, reply backends.Message) (coordinator.SidecallReply, error) {
	state, in, err := k.topicQuestion(ctx, t)
	if err != nil {
		return coordinator.SidecallReply{}, err
	}
	change, err := contextbuild.ReadTopicCall(in, reply)
	if err != nil || change.Act == contextbuild.TopicKept {
		return coordinator.SidecallReply{}, err
	}
	state, question := changedTopic(state, change, t.Question)
	kept, err := encodeTopic(state)
	if err != nil {
		return coordinator.SidecallReply{}, err
	}
	sections, err := k.sectionsFor(ctx, state, t.Session)
	if sections == nil {
		sections = []string{}
	}
	return coordinator.SidecallReply{Question: question, Sections: sections, Kept: kept}, err
}

// changedTopic returns the state after a change, and the question that replaces the asked one, "" for
// none (seed 002, pending topic).
func changedTopic(state topic.State, change contextbuild.TopicChange, asked string) (topic.State, string) {
	question := ""
	to := topic.Topic{Name: change.Name, Details: change.Details}
	switch change.Act {
	case contextbuild.TopicSet:
		state.Set(to)
		state.Pending = nil
	case contextbuild.TopicProposed:
		state.Propose(to, asked)
	case contextbuild.TopicConfirmed:
		question, _ = state.Confirm()
	case contextbuild.TopicDeclined:
		state.Decline()
	}
	return state, question
}

// storeTopic stores the state of readTopic. If others watch the turn, the watching process keeps the
// state until the session is in the store.
func (k *Keeper) storeTopic(ctx context.Context, id string, state topic.State) error {
	err := k.SetTopic(ctx, id, state)
	if k.ForOthers {
		k.forget(id)
	}
	return err
}

// showTopic reports a state that was stored, here or by the process that plays the turn.
func (k *Keeper) showTopic(id string, state topic.State) {
	if k.Elsewhere {
		k.mu.Lock()
		k.unkept[id] = state
		k.mu.Unlock()
	}
	if k.TopicChanged != nil {
		k.TopicChanged(state)
	}
}

// topicSections returns the sections about the topic, the role in the session's id, and the greeting. A
// greeting is only spoken of where the conversation has a topic, a role or a memory: the inputs of a plain
// session stay those of seed 003.
func (k *Keeper) topicSections(ctx context.Context, state topic.State, id string) ([]string, error) {
	about := contextbuild.Topic{Role: strings.TrimSpace(sessions.ParseID(id)[idRole]), InHistory: k.showsHistory}
	if state.Current != nil {
		about.Text = state.Current.String()
	}
	config := k.settings.Config
	isUsed := about.Text != "" || about.Role != "" || config.Topic.Made || config.Memory.Made
	if !isUsed && !k.settings.Log.Enabled(ctx, slog.LevelDebug) {
		return nil, nil
	}
	last, err := k.lastExchanges(ctx, id)
	if err != nil {
		return nil, err
	}
	k.logContext(state, last)
	if !isUsed {
		return nil, nil
	}
	if !state.Greeted {
		if state.LastMessage, err = LastMessage(ctx, k.Store, id); err != nil {
			return nil, err
		}
	}
	about.History, about.Greeted = last, !state.ShouldGreet(time.Now())
	return contextbuild.TopicSections(about), nil
}

// logContext logs the context of the next turn (seed 002, log context in prompts).
func (k *Keeper) logContext(state topic.State, last []contextbuild.Exchange) {
	var current, pending string
	if t := state.Current; t != nil {
		current = t.String()
	}
	if p := state.Pending; p != nil {
		pending = p.Topic.String()
	}
	k.settings.Log.Debug("context", "topic", current, "history", contextbuild.RecentConversation(last), "pending", pending)
}

// recentTurns is higher than the number that TopicSections shows, since a turn may have no answer.
const recentTurns = 6

func (k *Keeper) lastExchanges(ctx context.Context, id string) ([]contextbuild.Exchange, error) {
	turns, err := k.Store.Turns(ctx, id, recentTurns)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	var last []contextbuild.Exchange
	for _, t := range turns {
		if t.Winner != "" {
			last = append(last, contextbuild.Exchange{Question: t.Question, Answer: t.Answer})
		}
	}
	return last, err
}

// afterTurn stores the page of the turn's question, and the topic of a new session.
func (k *Keeper) afterTurn(ctx context.Context, t *coordinator.Turn, r report.Result) error {
	if r.Winner == "" || len(k.pages) == 0 && !k.isUnkept(t.Session()) {
		return nil
	}
	state, err := k.Topic(ctx, t.Session())
	if err == nil && (state.Current != nil || state.Page != topic.Page{}) {
		err = k.SetTopic(ctx, t.Session(), state)
	}
	if err != nil {
		k.Warn(err.Error()) // the answer counts all the same
	}
	return nil
}
