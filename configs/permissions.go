package configs

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/tools/permission"
)

// Permissions say which calls of the agents' tools may run. Unattended takes the place
// of permission.Ask where nobody can be asked, empty for permission.Deny.
type Permissions struct {
	permission.Rules

	Unattended permission.Action
}

func permissionsSection() section[Permissions] {
	return section[Permissions]{keys: []key[Permissions]{
		{"rules", by((*reader).permissionRules).of(func() shape { return listShape(shapeOf(permissionSection())) })},
		{"otherwise", enum(func(p *Permissions) *permission.Action { return &p.Otherwise }, permission.Allow, permission.Ask, permission.Deny)},
		{"unattended", enum(func(p *Permissions) *permission.Action { return &p.Unattended }, permission.Allow, permission.Deny)},
	}}
}

func permissionSection() section[permission.Rule] {
	return section[permission.Rule]{keys: []key[permission.Rule]{
		{"action", enum(func(p *permission.Rule) *permission.Action { return &p.Action }, permission.Allow, permission.Ask, permission.Deny)},
		{"tool", value(toolName(), func(p *permission.Rule) *string { return &p.Tool })},
		{"arguments", by((*reader).argumentPatterns)},
	}}
}

func (r *reader) permissionRules(at string, n *yaml.Node, p *Permissions) {
	for i, item := range r.doc.list(at, n, "a list of rules, each with an action and a tool") {
		path := fmt.Sprintf("%s[%d]", at, i)
		var rule permission.Rule
		if readSection(r, path, item, permissionSection(), &rule) && (rule.Action == "" || rule.Tool == "") {
			r.doc.fail(item, "%s lacks an action or a tool; a rule has both, as in {action: ask, tool: run_command}", path)
		}
		p.Rules.Rules = append(p.Rules.Rules, rule)
	}
}

func (r *reader) argumentPatterns(at string, n *yaml.Node, p *permission.Rule) {
	for _, e := range r.doc.entries(at, n) {
		if v, ok := parseScalar(r, join(at, e.key.Value), e.value, textParser()); ok {
			if p.Arguments == nil {
				p.Arguments = map[string]string{}
			}
			p.Arguments[e.key.Value] = v
		}
	}
}

func (d *description) permissions(p Permissions) {
	if len(p.Rules.Rules) == 0 && p.Otherwise == "" && p.Unattended == "" {
		return
	}
	d.head("permissions")
	for i, rule := range p.Rules.Rules {
		d.row(fmt.Sprintf("rule %d", i+1), rule)
	}
	d.row("otherwise", cmp.Or(p.Otherwise, permission.Allow))
	d.row("unattended", cmp.Or(p.Unattended, permission.Deny))
}
