package openai

import (
	"context"
	"encoding/json"
	"fmt"

	goopenai "github.com/sashabaranov/go-openai"
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
	body, err := b.service.Get(ctx, func(ctx context.Context) error {
		_, err := b.client.ListModels(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var list goopenai.ModelsList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, b.service.LocalError(fmt.Errorf("the answer is no list of models: %w", err))
	}
	var models []Model
	for _, m := range list.Models {
		models = append(models, Model{ID: m.ID, OwnedBy: m.OwnedBy})
	}
	return models, nil
}
