package providers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// TestOwnLimitGivesWay: a local server with a small window answers where the config names no limit. A
// limit of the config is sent once, also where both agents have the same model.
func TestOwnLimitGivesWay(t *testing.T) {
	var sent []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Most int `json:"max_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if sent = append(sent, body.Most); body.Most+300 > 8192 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"'max_tokens' is too large: %d. This model's maximum context length is 8192 tokens and your request has 300 input tokens."}}`, body.Most)
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	r := resolverFor(t, configs.Default(), World{}, nil)
	ask := func(chosen *int) error {
		b := configs.Backend{Type: "vllm", Model: "m", BaseURL: server.URL + "/v1", Params: backends.Params{MaxTokens: chosen}}
		m, faults := r.Resolve(t.Context(), b)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		_, err := backends.Collect(m.Backend.Stream(t.Context(), backends.Request{
			Model: m.Name, Messages: []backends.Message{backends.User("?")}, Params: r.Bounded(m, b.Params),
		}), nil)
		return err
	}
	if err := ask(nil); err != nil || !slices.Equal(sent, []int{8192, 7892}) {
		t.Errorf("without a limit: %v after %v", err, sent)
	}
	sent = nil
	if err := ask(new(8192)); err == nil || !slices.Equal(sent, []int{8192}) {
		t.Errorf("with a chosen limit: %v after %v", err, sent)
	}
}
