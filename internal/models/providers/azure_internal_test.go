package providers

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
)

// azureRequest is what reaches an endpoint of a connection.
func azureRequest(t *testing.T, c connection, params backends.Params) (line, body string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line = strings.Join([]string{r.URL.String(), r.Header.Get("Api-Key"), r.Header.Get("Authorization")}, " | ")
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = string(data)
		http.NotFound(w, r)
	}))
	defer s.Close()
	c.provider, c.baseURL = azureType, s.URL+c.baseURL
	b, err := azure{}.connect(c)
	if err != nil {
		t.Fatal(err)
	}
	request := backends.Request{Model: c.model, Messages: []backends.Message{backends.User("q")}, Params: params}
	var e *backends.Error
	if _, err = backends.Collect(b.Stream(t.Context(), request), nil); !errors.As(err, &e) || e.Status != http.StatusNotFound {
		t.Errorf("a page that is not there gives %v", err)
	}
	return line, body
}

func TestAzureIsAddressedByDeployment(t *testing.T) {
	const byDeployment = "/chat/completions?api-version=2024-10-21 | azure-key | "
	const v1 = "/openai/v1/chat/completions"
	cases := []struct{ path, version, want string }{
		{"", "2024-10-21", "/openai/deployments/my%20model" + byDeployment},
		{"/", "2024-10-21", "/openai/deployments/my%20model" + byDeployment},
		{"/openai", "2024-10-21", "/openai/deployments/my%20model" + byDeployment},
		{"/openai/deployments/other", "2024-10-21", "/openai/deployments/other" + byDeployment},
		{"/openai/deployments/other/chat/completions?api-version=2024-10-21", "", "/openai/deployments/other" + byDeployment},
		{"/openai/deployments/other?api-version=2020-01-01", "2024-10-21", "/openai/deployments/other" + byDeployment},
		{"/openai/deployments/other", "preview", "/openai/deployments/other/chat/completions?api-version=preview | azure-key | "},
		{"?gate=1", "2024-10-21", "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21&gate=1 | azure-key | "},
		{"/", "", v1 + " |  | Bearer azure-key"},
		{"/openai/v1", "", v1 + " |  | Bearer azure-key"},
		{"/openai/v1/", "preview", v1 + "?api-version=preview |  | Bearer azure-key"},
		{"", "preview", v1 + "?api-version=preview |  | Bearer azure-key"},
	}
	for _, c := range cases {
		line, _ := azureRequest(t, connection{baseURL: c.path, apiVersion: c.version, key: "azure-key", model: "my model"}, backends.Params{})
		if line != c.want {
			t.Errorf("%q with version %q: %s, want %s", c.path, c.version, line, c.want)
		}
	}
}

func TestAzureIsSentTheParameters(t *testing.T) {
	most, half := 100, 0.5
	for _, c := range []struct {
		model, version string
		params         backends.Params
		want           string
	}{
		{"o4-mini", "", backends.Params{MaxTokens: &most, ReasoningEffort: "low"},
			`{"max_completion_tokens":100,"messages":[{"role":"user","content":"q"}],"model":"o4-mini","reasoning_effort":"low",` +
				`"stream":true,"stream_options":{"include_usage":true}}`},
		{"my-deployment", "2025-04-01-preview", backends.Params{MaxTokens: &most, ReasoningEffort: "high"},
			`{"max_completion_tokens":100,"messages":[{"role":"user","content":"q"}],"model":"my-deployment","reasoning_effort":"high",` +
				`"stream":true,"stream_options":{"include_usage":true}}`},
		{"my-deployment", "2024-06-01", backends.Params{MaxTokens: &most, Temperature: &half},
			`{"max_tokens":100,"messages":[{"role":"user","content":"q"}],"model":"my-deployment","stream":true,"temperature":0.5}`},
	} {
		_, body := azureRequest(t, connection{apiVersion: c.version, model: c.model}, c.params)
		if diff := cmp.Diff(c.want, body); diff != "" {
			t.Errorf("%s with version %q (-want +got)\n%s", c.model, c.version, diff)
		}
	}
}

func TestAzureRefuses(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		path, version, model string
		params               backends.Params
		want                 string
	}{
		{"", "2024-10-21", "my-deployment", backends.Params{ReasoningEffort: "low"},
			"reasoning_effort: api_version 2024-10-21 knows none: set one from 2024-12-01-preview on, or leave api_version out"},
		{"", "", "gpt-5-mini", backends.Params{Temperature: &half}, "temperature: gpt-5-mini takes none but 1 while it reasons: leave it out"},
		{"/openai/deployments/d", "", "d", backends.Params{},
			"base_url names a deployment, which needs a version: set api_version, or cut the address after the host"},
		{"", "2025-04-01-preview", "my-deployment", backends.Params{Temperature: &half, ReasoningEffort: "low"}, ""},
	} {
		err := azure{}.check(connection{baseURL: "https://r.openai.azure.com" + c.path, apiVersion: c.version, model: c.model}, configs.Backend{Params: c.params})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s %s: %q, want %q", c.path, c.version, c.model, got, c.want)
		}
	}
}
