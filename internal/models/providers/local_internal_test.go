package providers

import (
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// TestLocalModelsHaveALimitOfOutput: those of others have none, and a chosen limit stays.
func TestLocalModelsHaveALimitOfOutput(t *testing.T) {
	r := resolverFor(t, configs.Default(), World{}, nil)
	for _, c := range []struct {
		model  Model
		chosen *int
		want   *int
	}{
		{Model{Local: true}, nil, new(8192)},
		{Model{Local: true, MaxOutput: 4096}, nil, new(4096)},
		{Model{Local: true}, new(20000), new(20000)},
		{Model{}, nil, nil},
		{Model{MaxOutput: 4096}, nil, nil},
	} {
		got := r.Bounded(c.model, backends.Params{MaxTokens: c.chosen}).MaxTokens
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%+v with %v: %v, want %v", c.model, c.chosen, got, c.want)
		}
	}
}

// TestDialectsOfAddresses: only local servers have their loops ended, and ids are short where the type
// or the address is OpenAI's.
func TestDialectsOfAddresses(t *testing.T) {
	for _, p := range providers {
		own, ok := p.protocol.(chat)
		if !ok {
			continue
		}
		elsewhere := connection{provider: p.name, baseURL: "https://proxy.example/v1", model: "m"}
		if d := own.at(elsewhere); d.EndsLoops != p.local || d.ShortIDs != (p.name == openAIType) {
			t.Errorf("%s: ends loops %t, short ids %t", p.name, d.EndsLoops, d.ShortIDs)
		}
	}
	generic, _ := findProvider(anyType)
	home := connection{provider: anyType, baseURL: "https://api.openai.com/v1", model: "gpt-4o"}
	if own, ok := generic.protocol.(chat); !ok || !own.at(home).ShortIDs {
		t.Error("ids are not shortened at OpenAI's own address")
	}
	if d := (azureEndpoint{}).dialect(connection{model: "gpt-4o"}); !d.ShortIDs {
		t.Error("ids are not shortened at Azure's")
	}
}
