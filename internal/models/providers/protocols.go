package providers

import (
	"cmp"
	"errors"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/toolfit"
)

// protocol is how a provider is spoken to.
type protocol interface {
	// connect makes the adapter, and calls nothing.
	connect(c connection) (backends.Backend, error)
	// check returns a *backends.ParamError for what a configuration asks of the model
	// that it cannot take.
	check(c connection, b configs.Backend) error
	// notes tell people what is odd about the provider, in a sentence each.
	notes() []string
	// schemas returns the rules for the schemas of tools.
	schemas(c connection) toolfit.Rules
}

// chat is OpenAI's chat completions, or its Responses API, in a service's dialect.
type chat struct{ dialect openai.Dialect }

func (p chat) connect(c connection) (backends.Backend, error) {
	return newOpenAI(c, p.at(c))
}

func (p chat) check(c connection, b configs.Backend) error {
	return checkChat(p.at(c), c.model, b)
}

// at returns the dialect of the service that is called, over the API that a configuration
// chooses. For a compatible service people write the type openai as well as the one that is
// meant for it: there the address tells who it is. At an address that is nobody's, the type
// decides whether the models of OpenAI's that need the Responses API have it.
func (p chat) at(c connection) openai.Dialect {
	d := p.dialect
	if c.provider == openAIType {
		d = openai.Compatible()
		d.Schemas = d.Schemas.And(p.dialect.Schemas)
		d.ShortIDs = true // the service passes calls on to OpenAI, or imitates it
	}
	if c.provider == openAIType || c.provider == anyType {
		if home, ok := providerOfURL(c.baseURL); ok {
			if known, ok := home.protocol.(chat); ok {
				d = known.dialect
			}
		}
	}
	d.API = cmp.Or(c.api, d.API)
	return d
}

// api is the API that a configuration chooses, "" where the model says it. Who wants summaries
// of OpenAI's reasoning is called over the Responses API, which alone has them.
func (p provider) api(c connection, b configs.Backend) string {
	if b.API != "" || !b.Params.WantsSummary() {
		return b.API
	}
	switch own := p.protocol.(type) {
	case chat:
		if own.at(c).OwnResponses {
			return "responses"
		}
	case azure:
		if e, err := own.endpoint(c); err == nil && e.noResponses() == "" {
			return "responses"
		}
	}
	return ""
}

// overResponses reports whether a model is called over OpenAI's Responses API.
func (p provider) overResponses(c connection) bool {
	own, ok := p.protocol.(chat)
	return ok && own.at(c).OverResponses(c.model)
}

func (p chat) schemas(c connection) toolfit.Rules { return p.at(c).Rules(c.model) }

func (p chat) notes() []string { return p.dialect.Notes() }

func checkChat(d openai.Dialect, model string, b configs.Backend) error {
	if err := d.Check(model, b.Params); err != nil {
		return err
	}
	if effect.ToolMode(b.ToolMode) == effect.ToolsNative {
		return d.CheckTools(model, b.Params)
	}
	return nil
}

// config returns the configuration of each adapter.
func (c connection) config() openai.Config {
	return openai.Config{
		Provider: c.provider, BaseURL: c.baseURL, APIKey: c.key, Model: c.model,
		FirstByteTimeout: c.firstByteTimeout, IdleTimeout: c.idleTimeout, Shared: c.shared,
	}
}

func newOpenAI(c connection, d openai.Dialect) (*openai.Backend, error) {
	return openai.NewDialect(c.config(), d)
}

// claude is Anthropic's Messages API.
type claude struct{}

func (claude) connect(c connection) (backends.Backend, error) {
	return anthropic.New(c.config())
}

func (claude) check(c connection, b configs.Backend) error {
	if effect.ToolMode(b.ToolMode) == effect.ToolsJSON {
		if err := anthropic.CheckSchema(c.model); err != nil {
			return err
		}
		if b.Params.Hosted.Any() {
			return backends.NewParamError("tool_mode", "%s has no tools of its own beside a schema for its reply: use native or auto", c.model)
		}
	}
	return anthropic.CheckParams(c.model, b.Params)
}

func (claude) schemas(connection) toolfit.Rules { return toolfit.Claude() }

func (claude) notes() []string {
	return []string{
		"temperature is 0 to 1; from 4.7 on neither it nor top_p is taken, from 4.1 on not both",
		"no seed",
		"reasoning_effort from 3.7 on: none, low, medium or high, from 4.6 on max too, from 4.7 on xhigh too",
		"budget_tokens from 3.7 to 4.6; from 4.0 on it thinks between tool calls, too",
		"without max_tokens, 8192 and what the reasoning may take are asked for",
		"cache_ttl is 5m or 1h",
		"tool_mode: json from 4.5 on",
		"searches the web, fetches pages and runs code from 3.5 on, not with tool_mode: json",
		"images and, from 3.5 on, PDF; a larger image than 3.9 MB or 8,000 pixels a side is made smaller",
	}
}

// google is the Gemini API.
type google struct{}

func (google) connect(c connection) (backends.Backend, error) {
	return gemini.New(c.config())
}

func (google) check(c connection, b configs.Backend) error {
	return cmp.Or(gemini.CheckParams(c.model, b.Params), checkHosted(c.model, b))
}

func (google) schemas(connection) toolfit.Rules { return toolfit.Gemini() }

func (google) notes() []string {
	return []string{
		"stop has 5 at most; seed has 32 bits",
		"reasoning_effort is minimal, low, medium or high; Gemini 2.5 Flash takes none too",
		"searches the web, fetches pages and runs code from 2.0 on; before 3 not beside other tools, so that agents act by JSON",
		"budget_tokens with Gemini 2.5 only",
		"images and PDF",
	}
}

// demo asks nobody, so that it takes everything.
type demo struct{}

func (demo) connect(connection) (backends.Backend, error) { return debugbackend.Demo(), nil }

func (demo) check(connection, configs.Backend) error { return nil }

func (demo) schemas(connection) toolfit.Rules { return toolfit.Rules{} }

func (demo) notes() []string { return []string{"no model is asked, and parameters have no effect"} }

// simulated asks nobody either.
type simulated struct{}

func (simulated) connect(c connection) (backends.Backend, error) {
	return debugbackend.NewSimulated(*c.simulated), nil
}

func (simulated) check(_ connection, b configs.Backend) error {
	if len(b.Simulated.Questions) == 0 {
		return errors.New("it needs a file of questions: set answers and accuracy in a config")
	}
	return nil
}

func (simulated) schemas(connection) toolfit.Rules { return toolfit.Rules{} }

func (simulated) notes() []string {
	return []string{"no model is asked: it answers the questions of the file `answers`, as docs/deciding.md says", "of the parameters only seed has an effect"}
}
