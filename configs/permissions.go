package configs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Permissions say which calls of the agents' tools may run.
type Permissions struct {
	Rules []Permission
	// Otherwise is what holds for a call that no rule is about, empty for PermitAllow.
	// Unattended takes the place of PermitAsk where nobody can be asked, empty for
	// PermitDeny.
	Otherwise  Permit
	Unattended Permit
}

// Permit is what becomes of a call.
type Permit string

// What becomes of a call.
const (
	PermitAllow Permit = "allow"
	PermitAsk   Permit = "ask"
	PermitDeny  Permit = "deny"
)

// Permission is one rule. Tool is a pattern of a tool's name, Arguments are patterns of
// arguments by their names; in patterns * is any text and ? any one character.
type Permission struct {
	Action    Permit
	Tool      string
	Arguments map[string]string
}

func (p Permission) String() string {
	text := string(p.Action) + " " + p.Tool
	if len(p.Arguments) == 0 {
		return text
	}
	var arguments []string
	for _, name := range slices.Sorted(maps.Keys(p.Arguments)) {
		arguments = append(arguments, name+": "+p.Arguments[name])
	}
	return text + " (" + strings.Join(arguments, ", ") + ")"
}

func permissionsSection() section[Permissions] {
	return section[Permissions]{keys: []key[Permissions]{
		{"rules", by((*reader).permissionRules)},
		{"otherwise", enum(func(p *Permissions) *Permit { return &p.Otherwise }, PermitAllow, PermitAsk, PermitDeny)},
		{"unattended", enum(func(p *Permissions) *Permit { return &p.Unattended }, PermitAllow, PermitDeny)},
	}}
}

func permissionSection() section[Permission] {
	return section[Permission]{keys: []key[Permission]{
		{"action", enum(func(p *Permission) *Permit { return &p.Action }, PermitAllow, PermitAsk, PermitDeny)},
		{"tool", value(toolName(), func(p *Permission) *string { return &p.Tool })},
		{"arguments", by((*reader).argumentPatterns)},
	}}
}

func (r *reader) permissionRules(at string, n *yaml.Node, p *Permissions) {
	for i, item := range r.list(at, n, "a list of rules, each with an action and a tool") {
		path := fmt.Sprintf("%s[%d]", at, i)
		var rule Permission
		before := len(r.issues)
		readSection(r, path, item, permissionSection(), &rule)
		if len(r.issues) == before && (rule.Action == "" || rule.Tool == "") {
			r.fail(item, "%s lacks an action or a tool; a rule has both, as in {action: ask, tool: run_command}", path)
		}
		p.Rules = append(p.Rules, rule)
	}
}

func (r *reader) argumentPatterns(at string, n *yaml.Node, p *Permission) {
	for _, e := range r.entries(at, n) {
		if v, ok := parseScalar(r, join(at, e.key.Value), e.value, textParser()); ok {
			if p.Arguments == nil {
				p.Arguments = map[string]string{}
			}
			p.Arguments[e.key.Value] = v
		}
	}
}

func (d *description) permissions(p Permissions) {
	if len(p.Rules) == 0 && p.Otherwise == "" && p.Unattended == "" {
		return
	}
	d.head("permissions")
	for i, rule := range p.Rules {
		d.row(fmt.Sprintf("rule %d", i+1), rule)
	}
	d.row("otherwise", cmp.Or(p.Otherwise, PermitAllow))
	d.row("unattended", cmp.Or(p.Unattended, PermitDeny))
}
