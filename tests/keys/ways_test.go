package keys

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"strings"
)

// setup has the environment of a run, and the flags that select the agents.
type setup struct {
	protocol protocol
	env      map[string]string
	dotEnv   string
	// backend is the agents' backend in a config, or nil if the flags name the service.
	backend map[string]any
	flags   []string
}

// way is a way of giving a key.
type way struct {
	name string
	// give lets a service at the address know the key.
	give func(s *setup, address, key string)
	// azure is true for a way with the protocol of OpenAI only.
	azure bool
}

func ways() []way {
	return []way{
		{name: "variable", give: func(s *setup, _, key string) { s.env[s.protocol.keyVar] = key }},
		{name: "variable with a space", give: func(s *setup, _, key string) { s.env[s.protocol.keyVar] = " " + key + " " }},
		{name: "dotenv", give: func(s *setup, _, key string) { s.dotEnv = s.protocol.keyVar + "='" + key + "'\n" }},
		{name: "api_key", give: func(s *setup, _, key string) { s.backend["api_key"] = key }},
		{name: "api_key of a variable", give: func(s *setup, _, key string) { s.env["MINE"], s.backend["api_key"] = key, "${MINE}" }},
		{name: "api_key by default", give: func(s *setup, _, key string) { s.backend["api_key"] = "${MINE:-" + key + "}" }},
		{name: "password", give: func(s *setup, address, key string) {
			s.backend["base_url"] = withUser(address, url.UserPassword("me", key))
		}},
		{name: "user alone", give: func(s *setup, address, key string) { s.backend["base_url"] = withUser(address, url.User(key)) }},
		{name: "query", give: func(s *setup, address, key string) { s.backend["base_url"] = address + "?key=" + url.QueryEscape(key) }},
		{name: "address of a variable", give: func(s *setup, address, key string) {
			s.dotEnv = "PLACE_WITH_TOKEN='" + withUser(address, url.UserPassword("me", key)) + "'\n"
			s.backend["base_url"] = "${PLACE_WITH_TOKEN}"
		}},
		{name: "flag with a password", give: func(s *setup, address, key string) {
			s.backend, s.flags = nil, []string{"--backend", s.protocol.typ, "--model", s.protocol.model, "--base-url", withUser(address, url.UserPassword("me", key))}
		}},
		{name: "flag with a query", give: func(s *setup, address, key string) {
			s.backend, s.flags = nil, []string{"--backend=" + s.protocol.typ, "--model=" + s.protocol.model, "--base-url=" + address + "?sig=" + url.QueryEscape(key)}
		}},
		{name: "bearer", give: header("Authorization", func(key string) string { return "Bearer " + key })},
		{name: "basic", give: header("Authorization", func(key string) string {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+key))
		})},
		{name: "header", give: header("x-api-key", asItIs)},
		{name: "header of its own", give: header("X-Custom", asItIs)},
		{name: "extra_body", give: func(s *setup, _, key string) { s.backend["extra_body"] = map[string]any{"access_token": key} }},
		{name: "depth of extra_body", give: func(s *setup, _, key string) {
			s.backend["extra_body"] = map[string]any{"credentials": map[string]any{"list": []string{key}}}
		}},
		{name: "extra_body of a variable", give: func(s *setup, _, key string) {
			s.env["MY_TOKEN"], s.backend["extra_body"] = key, map[string]any{"access": "${MY_TOKEN}"}
		}},
		{name: "extra_body by default", give: func(s *setup, _, key string) {
			s.backend["extra_body"] = map[string]any{"access": "${MY_TOKEN:-" + key + "}"}
		}},
		{name: "Azure", azure: true, give: func(s *setup, _, key string) { s.backend["type"], s.backend["api_key"] = "azure_openai", key }},
		{name: "Azure's header", azure: true, give: func(s *setup, _, key string) {
			s.backend["type"], s.backend["api_version"] = "azure_openai", "2024-10-21"
			s.env["AZURE_OPENAI_API_KEY"] = key
		}},
	}
}

func header(name string, value func(key string) string) func(*setup, string, string) {
	return func(s *setup, _, key string) {
		s.backend["headers"] = map[string]string{name: value(key), "X-Title": "canaries"}
	}
}

// withUser returns the address with a user in it, even if it is no URL.
func withUser(address string, user *url.Userinfo) string {
	return strings.Replace(address, "://", "://"+user.String()+"@", 1)
}

// prepare sets up a run in which a service at the address is given the key.
func (w way) prepare(p protocol, address, key string) *setup {
	s := &setup{
		protocol: p, env: map[string]string{},
		backend: map[string]any{"type": p.typ, "model": p.model, "base_url": address},
	}
	w.give(s, address, key)
	return s
}

// config is the file of a panel of so many agents.
func (s *setup) config(agents int) ([]byte, error) {
	var list []map[string]any
	for i := range agents {
		list = append(list, map[string]any{"id": string(rune('a' + i)), "backend": maps.Clone(s.backend)})
	}
	once := map[string]int{"max_call_attempts": 1} // a repetition tells nothing new, and takes its time
	providers := map[string]any{"openai": once, "azure_openai": once, "claude": once, "gemini": once}
	return json.Marshal(map[string]any{"agents": list, "providers": providers})
}
