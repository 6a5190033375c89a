package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/massgen/massgen/backends"
)

// Model is an entry of a service's list of models.
type Model struct {
	ID      string
	OwnedBy string
}

// ListModels asks the service which models it has (GET base_url/models). How long
// it may take is for ctx to say. Its errors are *backends.Error; an answer that
// is no list is KindBadRequest.
func (b *Backend) ListModels(ctx context.Context) ([]Model, error) {
	a := attempt{backend: b, parent: ctx, wire: &exchange{whole: true, trace: &backends.Trace{}, watch: &watchdog{}}}
	a.ctx = withExchange(ctx, a.wire)
	list, err := b.client.ListModels(a.ctx)
	switch {
	case a.wire.failure == nil && isNoList(err):
		return nil, b.localError(fmt.Errorf("the answer is no list of models: %w", err))
	case err != nil:
		return nil, a.failure(err)
	}
	var models []Model
	for _, m := range list.Models {
		models = append(models, Model{ID: m.ID, OwnedBy: m.OwnedBy})
	}
	return models, nil
}

// isNoList says whether err comes from reading an answer, and not from getting it.
func isNoList(err error) bool {
	var (
		viaURL *url.Error
		noJSON *json.SyntaxError
		noList *json.UnmarshalTypeError
	)
	if errors.As(err, &viaURL) {
		return false
	}
	return errors.Is(err, io.EOF) || errors.As(err, &noJSON) || errors.As(err, &noList)
}
