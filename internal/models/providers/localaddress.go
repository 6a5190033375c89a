package providers

import (
	"cmp"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// ollamaAddress returns the address in OLLAMA_HOST as Ollama's own client reads it, "" if it is not set.
// https://github.com/ollama/ollama/blob/main/envconfig/config.go
func ollamaAddress(get func(name string) string) string {
	text := strings.TrimSpace(strings.Trim(get("OLLAMA_HOST"), `"'`))
	if text == "" {
		return ""
	}
	scheme, rest, hasScheme := strings.Cut(text, "://")
	port := "11434"
	switch {
	case !hasScheme:
		scheme, rest = "http", text
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	return localAddress(scheme, rest, port)
}

// llamaAddress returns the address at which llama-server listens by its variables, "" if none is set, or
// for a socket of Unix. https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
func llamaAddress(get func(name string) string) string {
	host, port, prefix := get("LLAMA_ARG_HOST"), get("LLAMA_ARG_PORT"), get("LLAMA_ARG_API_PREFIX")
	if host+port+prefix == "" || strings.HasSuffix(host, ".sock") {
		return ""
	}
	return localAddress("http", host+"/"+strings.Trim(prefix, "/"), cmp.Or(port, "8080"))
}

// localAddress returns the base URL of a server that listens at host:port/path. Each part may be missing
// but for the default of the port. A server that listens on all addresses is reached on this machine.
func localAddress(scheme, text, port string) string {
	at, path, _ := strings.Cut(text, "/")
	user := ""
	if i := strings.LastIndex(at, "@"); i >= 0 {
		user, at = at[:i+1], at[i+1:]
	}
	host, own, err := net.SplitHostPort(at)
	if err != nil {
		host, own = strings.Trim(at, "[]"), ""
	}
	if n, err := strconv.Atoi(own); err == nil && n > 0 && n <= 65535 {
		port = own
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	base := scheme + "://" + user + net.JoinHostPort(host, port) + "/" + strings.Trim(path, "/")
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1"
	if _, err := url.Parse(base); err != nil {
		return ""
	}
	return base
}
