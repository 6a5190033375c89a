package configs

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/system/secrets"
)

// expand replaces ${NAME} and ${NAME:-default} in a scalar that stands at n, and
// $$ by $; a default is plain text. The default holds when the variable is unset or empty. It runs after
// the YAML was parsed: a value can change what a setting is, not what the file
// says. False is after an issue.
func (r *reader) expand(at string, n *yaml.Node, s string) (string, bool) {
	if !strings.Contains(s, "$") {
		return s, true
	}
	ok := true
	expanded := reference.ReplaceAllStringFunc(s, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		name, hasDefault, def := m[1], m[2] != "", m[3]
		switch {
		case ref == "$$":
			return "$"
		case name == "":
			r.doc.fail(n, "%s has a ${ that names no variable; write ${NAME} or ${NAME:-default}, or $${ for the text itself", at)
			ok = false
			return ""
		case ref == "${cwd}" && r.inServers:
			return agentFolder
		case strings.Contains(def, "${"):
			r.doc.fail(n, "%s has a ${ in the default of ${%s}, and defaults do not nest; write the default out, or set %s", at, name, name)
			ok = false
			return ""
		}
		value, set := r.opts.Lookup(name)
		switch {
		case hasDefault && value == "":
			value = def
		case !set && ref == "${cwd}":
			r.doc.fail(n, "%s has ${cwd}, which is an agent's folder in the agent's mcp_servers only; write the folder in its place", at)
			ok = false
			return ""
		case !set:
			r.doc.fail(n, "%s needs the variable %s, which is not set; set it in the environment%s, or write ${%s:-default}", at, name, orDotEnv(name), name)
			ok = false
			return ""
		}
		if secrets.IsName(name) {
			r.secrets.Add(value)
		}
		if set && secrets.NamesAKey(name) {
			r.warnShort(n, r.secrets.WarnShort(name, value))
		}
		return value
	})
	return expanded, ok
}

// orDotEnv says where else a variable may be set.
func orDotEnv(name string) string {
	if secrets.IsName(name) {
		return " or in .env"
	}
	return " (not in .env, which gives only keys and tokens)"
}

// reference matches $$, ${NAME}, ${NAME:-default}, and any other ${.
var reference = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?\}|\$\{`)
