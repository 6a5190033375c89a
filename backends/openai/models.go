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
	x := b.service.Begin(backends.WithTrace(ctx, &backends.Trace{}), nil)
	defer x.End()
	x.Unlimited()
	list, err := b.client.ListModels(x.Context())
	switch {
	case !x.ServiceFailed() && isNoList(err):
		return nil, b.service.LocalError(fmt.Errorf("the answer is no list of models: %w", err))
	case err != nil:
		return nil, x.Failure(err, false)
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
