package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"
)

// mostListed is the longest page that the service gives; it has fewer models.
const mostListed = 1000

// ListModels asks the service which models it has that answer (GET base_url/v1beta/models). How
// long it may take is for ctx to say. Its errors are *backends.Error; an answer that is no list is
// KindBadRequest.
func (b *Backend) ListModels(ctx context.Context) ([]string, error) {
	body, err := b.service.Get(ctx, func(ctx context.Context) error {
		_, err := b.client.Models.List(ctx, &genai.ListModelsConfig{PageSize: mostListed})
		return err
	})
	if err != nil {
		return nil, err
	}
	var list struct {
		Models []struct {
			Name    string   `json:"name"`
			Methods []string `json:"supportedGenerationMethods"`
		} `json:"models"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, b.service.LocalError(fmt.Errorf("the answer is no list of models: %w", err))
	}
	var names []string
	for _, m := range list.Models {
		if slices.Contains(m.Methods, "generateContent") {
			names = append(names, strings.TrimPrefix(m.Name, "models/"))
		}
	}
	return names, nil
}
