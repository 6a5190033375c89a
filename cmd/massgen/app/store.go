package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/massgen/massgen/internal/store"
)

// openStore opens the store of sessions, which is made if it is not there.
func (p *program) openStore(ctx context.Context) (*store.Store, error) {
	if address := p.database(); address != "" {
		return p.openDatabase(ctx, address)
	}
	path, err := p.statePath()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, path, p.console.secrets.Redact)
}

// storeIfThere opens the store of sessions and makes none: if it is not there, it is
// an empty one in memory.
func (p *program) storeIfThere(ctx context.Context) (*store.Store, error) {
	if p.database() != "" {
		return p.openStore(ctx)
	}
	path, err := p.statePath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return store.InMemory(path, p.console.secrets.Redact), nil
	}
	return p.openStore(ctx)
}

// storeToAsk opens the store that a conversation is kept in. Where none can be made,
// a conversation for which none was named goes on in memory, and the notice says so.
// A store that is there and cannot be used is an error.
func (p *program) storeToAsk(ctx context.Context) (opened *store.Store, notice string, err error) {
	o := p.options
	if o.goOn {
		opened, err = p.storeIfThere(ctx)
		return opened, "", err
	}
	opened, err = p.openStore(ctx)
	named := p.database() != "" || o.stateDir != "" || o.sessionID != "" && o.sessionID != newSession
	if err == nil || named || ctx.Err() != nil || p.storeIsThere() {
		return opened, "", err
	}
	notice = fmt.Sprintf("nothing is kept of this session after this run: %v", err)
	if !errors.Is(err, store.ErrNoHome) {
		notice += "; --state-dir names another folder"
	}
	return store.InMemory("", p.console.secrets.Redact), notice, nil
}

// storeIsThere says whether there is a file where the store is to be.
func (p *program) storeIsThere() bool {
	path, err := p.statePath()
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil
}
