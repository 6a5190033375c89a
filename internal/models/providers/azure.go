package providers

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/models/toolfit"
)

// azure is OpenAI's API at an endpoint of Azure's, in two ways. With a version that is a
// date, the path of chat completions names the deployment, that of responses does not, and
// the key has a header of its own (the 2024-10-21 description of the API). Without, or with
// "preview", it is the v1 interface, which is addressed as OpenAI's
// (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle).
type azure struct{}

// azureEndpoint is where a call goes.
type azureEndpoint struct {
	baseURL string
	// version is the query's api-version, "" if it has no version.
	version string
	// byDeployment reports whether the path of chat completions names the deployment, named whether
	// the path in the configuration does.
	byDeployment, named bool
}

const deployments = "/openai/deployments/"

// endpoint finds the address of a deployment, which the model names. The address in
// the configuration may be that of the resource or what Azure's portal shows: the
// address of the deployment, with a version.
func (azure) endpoint(c connection) (azureEndpoint, error) {
	u, err := url.Parse(c.baseURL)
	if err != nil {
		return azureEndpoint{}, errors.New("base_url is not a URL: it should look like https://RESOURCE.openai.azure.com")
	}
	query := u.Query()
	out := azureEndpoint{version: cmp.Or(c.apiVersion, query.Get("api-version"))}
	out.named = strings.Contains(u.Path, deployments)
	if out.named && out.version == "" {
		return azureEndpoint{}, errors.New("base_url names a deployment, which needs a version: set api_version, or cut the address after the host")
	}
	out.byDeployment = out.named || isDated(out.version)
	u.RawQuery = ""
	address := strings.TrimRight(u.String(), "/")
	switch {
	case out.named:
	case out.byDeployment && out.dialect(c).OverResponses(c.model):
		address = strings.TrimSuffix(address, "/openai") + "/openai"
	case out.byDeployment:
		address = strings.TrimSuffix(address, "/openai") + deployments + url.PathEscape(c.model)
	case !strings.Contains(u.Path, "/openai/v1"):
		address = strings.TrimSuffix(address, "/openai") + "/openai/v1"
	}
	if out.version != "" {
		query.Set("api-version", out.version)
	}
	out.baseURL = address
	if len(query) > 0 {
		out.baseURL += "?" + query.Encode()
	}
	return out, nil
}

func isDated(version string) bool {
	return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`).MatchString(version)
}

// The first versions that know a field, by Azure's release notes and its
// descriptions of the API. Versions are dates, so that they compare as texts.
const (
	versionOfUsage     = "2024-09-01"
	versionOfReasoning = "2024-12-01"
	versionOfResponses = "2025-03-01"
)

// dialect is OpenAI's, less what an old version does not know.
func (e azureEndpoint) dialect(c connection) openai.Dialect {
	d := openai.OpenAI()
	d.API = c.api
	if d.API == "" && e.noResponses() != "" {
		d.API = "chat"
	}
	if d.HostedGoThere = false; !d.OverResponses(c.model) {
		d.Hosted = "" // the address is that of chat completions
	}
	if isDated(e.version) && e.version < versionOfUsage {
		d.All.MaxCompletionTokens, d.NoStreamUsage = false, true
	}
	return d
}

// noResponses says why the Responses API cannot be called, and the cure; "" where it can.
func (e azureEndpoint) noResponses() string {
	switch {
	case e.named:
		return "base_url names a deployment, which has no responses: cut the address after the host"
	case isDated(e.version) && e.version < versionOfResponses:
		return "api_version " + e.version + " knows no responses: set one from " + versionOfResponses + "-preview on, or leave it out"
	}
	return ""
}

func (p azure) connect(c connection) (backends.Backend, error) {
	e, err := p.endpoint(c)
	if err != nil {
		return nil, err
	}
	own := c.config()
	own.BaseURL = e.baseURL
	if e.byDeployment {
		own.APIKey, own.Headers = "", map[string]string{"api-key": c.key}
	}
	return openai.NewDialect(own, e.dialect(c))
}

func (p azure) check(c connection, b configs.Backend) error {
	e, err := p.endpoint(c)
	if err != nil {
		return err
	}
	if b.Params.ReasoningEffort != "" && isDated(e.version) && e.version < versionOfReasoning {
		return backends.NewParamError("reasoning_effort", "api_version %s knows none: set one from %s-preview on, or leave api_version out",
			e.version, versionOfReasoning)
	}
	if why := e.noResponses(); c.api == "responses" && why != "" {
		return backends.NewParamError("api", "%s", why)
	}
	return checkChat(e.dialect(c), c.model, b)
}

func (azure) schemas(connection) toolfit.Rules { return toolfit.OpenAI() }

func (azure) notes() []string {
	return []string{
		"model is the name of the deployment; where that begins as OpenAI's name of the model, what holds there holds here",
		"with an api_version that is a date, the address names the deployment and the key is sent as api-key; without, it is the v1 interface",
		"reasoning_effort needs an api_version from " + versionOfReasoning + "-preview on, or none, and the Responses API one from " +
			versionOfResponses + "-preview on, or none",
	}
}
