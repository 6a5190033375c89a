package anthropic

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
)

// mostListed is the longest page that the service gives; it has fewer models.
const mostListed = 1000

// ListModels asks the service which models it has (GET base_url/v1/models). How long it may take
// is for ctx to say. Its errors are *backends.Error; an answer that is no list is KindBadRequest.
func (b *Backend) ListModels(ctx context.Context) ([]string, error) {
	body, err := b.service.Get(ctx, func(ctx context.Context) error {
		_, err := b.models.List(ctx, sdk.ModelListParams{Limit: sdk.Int(mostListed)})
		return err
	})
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, b.service.LocalError(fmt.Errorf("the answer is no list of models: %w", err))
	}
	ids := make([]string, len(list.Data))
	for i, m := range list.Data {
		ids[i] = m.ID
	}
	return ids, nil
}
