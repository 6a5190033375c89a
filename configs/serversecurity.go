package configs

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// readServerSecurity is what MassGen allows of an MCP server. It holds for the servers that have the key.
type serverSecurity struct {
	level                    string
	allowLocal, allowPrivate bool
	hostnames, executables   []string
}

func serverSecuritySection() section[serverSecurity] {
	return section[serverSecurity]{
		keys: []key[serverSecurity]{
			{"level", text(func(s *serverSecurity) *string { return &s.level })},
			{"allow_localhost", value(boolean(), func(s *serverSecurity) *bool { return &s.allowLocal })},
			{"allow_private_ips", value(boolean(), func(s *serverSecurity) *bool { return &s.allowPrivate })},
			{"allowed_hostnames", listOf(textParser(), func(s *serverSecurity) *[]string { return &s.hostnames })},
			{"allowed_executables", listOf(textParser(), func(s *serverSecurity) *[]string { return &s.executables })},
		},
		massgen: []massgenKeys{
			{fate: refused, names: "resolve_dns env", hint: "list what the server gets in env:, and leave this out"},
		},
	}
}

// readServerSecurity reads what MassGen allows of a server; servers refuses what it does not allow.
func readServerSecurity(r *reader, at string, n *yaml.Node, _ *MCPServer) {
	r.doc.massgen = true
	var of serverSecurity
	if readSection(r, at, n, serverSecuritySection(), &of) && !isNull(n) {
		r.security = &of
	}
}

// programs are the programs that MassGen starts as servers at a level; levels that it does not know are
// its strict one.
func (s serverSecurity) programs() []string {
	if len(s.executables) > 0 {
		return s.executables
	}
	names := strings.Fields(`python python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 py uv uvx pipx pip pip3
		node npm npx yarn pnpm bun deno java ruby go rust cargo fastmcp srt mcp-server-filesystem sh bash zsh fish powershell pwsh cmd`)
	switch s.level {
	case "moderate":
		names = append(names, "git", "nodejs")
	case "permissive":
		names = append(names, "git", "curl", "wget", "nodejs")
	}
	return names
}

// check returns why MassGen would not use a server, nil if it would.
func (s serverSecurity) check(server MCPServer) error {
	if server.URL != "" {
		return s.checkURL(server.URL)
	}
	if strings.ContainsAny(server.Command, "&|;`$()<>") {
		return errors.New("its command has a character of the shell")
	}
	if slices.Contains(strings.Split(filepath.ToSlash(server.Command), "/"), "..") || strings.Contains(server.Command, "../") {
		return errors.New("its command has .. in it")
	}
	name := strings.ToLower(filepath.Base(strings.Fields(server.Command + " ?")[0]))
	for _, ending := range []string{".exe", ".bat", ".cmd", ".ps1"} {
		if bare, ok := strings.CutSuffix(name, ending); ok {
			name = bare
			break
		}
	}
	if !slices.ContainsFunc(s.programs(), func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
		return fmt.Errorf("its level does not allow the program %s", quoted(name))
	}
	if slices.Contains(strings.Split(filepath.ToSlash(server.CWD), "/"), "..") {
		return errors.New("its cwd has .. in it")
	}
	return s.checkEnv(server.Env)
}

// checkEnv returns why MassGen would not pass on variables. The error names no value, which may be a secret.
func (s serverSecurity) checkEnv(env map[string]string) error {
	denied := strings.Fields("LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PWD OLDPWD")
	if s.level != "moderate" && s.level != "permissive" {
		denied = append(denied, strings.Fields("PATH HOME USER USERNAME SHELL")...)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if slices.Contains(denied, strings.ToUpper(name)) {
			return fmt.Errorf("its level does not allow the variable %s", name)
		}
		if strings.ContainsAny(env[name], "`&;|") || strings.Contains(env[name], "$(") {
			return fmt.Errorf("its variable %s has a character of the shell", name)
		}
	}
	return nil
}

func (s serverSecurity) checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return nil //nolint:nilerr // address has complained
	}
	host := strings.ToLower(u.Hostname())
	if !slices.ContainsFunc(s.hostnames, func(name string) bool { return strings.EqualFold(name, host) }) {
		ip, err := netip.ParseAddr(host)
		isLocal := host == "localhost" || host == "ip6-localhost" || err == nil && ip.IsLoopback()
		switch {
		case isLocal && !s.allowLocal && (err != nil || !s.allowPrivate):
			return errors.New("its address is on this machine, which needs allow_localhost: true")
		case err == nil && !isLocal && !s.allowPrivate && !isPublic(ip):
			return errors.New("its address is in a private network, which needs allow_private_ips: true")
		}
	}
	port, err := strconv.Atoi(u.Port())
	if err == nil && slices.Contains([]int{22, 23, 25, 53, 135, 139, 445, 1433, 1521, 3306, 3389, 5432, 6379}, port) {
		return fmt.Errorf("its port %d is that of another service", port)
	}
	return nil
}

// isPublic reports whether an address is one of the internet's, as MassGen's language tells it.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap()
	within := func(prefixes string) bool {
		return slices.ContainsFunc(strings.Fields(prefixes), func(p string) bool { return netip.MustParsePrefix(p).Contains(ip) })
	}
	switch {
	case !ip.IsGlobalUnicast() || ip.IsPrivate():
		return false
	case ip.Is4():
		return !within("0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4")
	}
	return within("2000::/3") && !within("2001::/23 2001:db8::/32 2002::/16")
}
