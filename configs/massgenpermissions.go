package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/tools/permission"
)

// massgenPermissions are MassGen's permissions of one agent: rules such as command(git push*), a role, and a
// judgement of the risk for calls that no rule is about.
type massgenPermissions struct {
	enabled          bool
	role             string
	unattended       string
	allow, ask, deny []string
}

func massgenPermissionsSection() section[massgenPermissions] {
	return section[massgenPermissions]{
		keys: []key[massgenPermissions]{
			{"enabled", value(boolean(), func(p *massgenPermissions) *bool { return &p.enabled })},
			{"role", enum(func(p *massgenPermissions) *string { return &p.role }, "read-only", "researcher", "read-write", "implementer")},
			{"automation_default", enum(func(p *massgenPermissions) *string { return &p.unattended }, "risk-based", "deny-all", "allow-all")},
			{"rules", mapping(massgenRulesSection, func(p *massgenPermissions) *massgenPermissions { return p })},
		},
		massgen: []massgenKeys{
			{fate: accepted, names: "audit persist_approvals settings_path approval_mode"},
			{fate: warned, names: "max_consecutive_auto", hint: "use max_tool_calls in orchestrator"},
		},
	}
}

func massgenRulesSection() section[massgenPermissions] {
	return section[massgenPermissions]{keys: []key[massgenPermissions]{
		{"allow", listOf(textParser(), func(p *massgenPermissions) *[]string { return &p.allow })},
		{"ask", listOf(textParser(), func(p *massgenPermissions) *[]string { return &p.ask })},
		{"deny", listOf(textParser(), func(p *massgenPermissions) *[]string { return &p.deny })},
	}}
}

// guard translates the permissions. The guard is stricter in one way: a rule to ask holds beside a rule to
// allow. Calls of some risk that no rule is about need a person; without one, those of high risk are refused.
func (p massgenPermissions) guard() (Guard, error) {
	deny, ask, allow := p.deny, p.ask, p.allow
	if p.role == "read-only" || p.role == "researcher" {
		deny = append(deny, "write_file(*)", "command(*)")
		ask = append(ask, "read_url(*)")
		allow = append(allow, "read_file(*)")
	}
	guard := Guard{Rules: permission.Rules{Otherwise: permission.Ask}, Unattended: permission.Allow}
	if p.unattended == "deny-all" {
		guard.Unattended = permission.Deny
	}
	for _, list := range []struct {
		action permission.Action
		specs  []string
	}{{permission.Deny, deny}, {permission.Ask, ask}, {permission.Allow, allow}} {
		for _, spec := range list.specs {
			rules, err := massgenRules(list.action, spec)
			if err != nil {
				return Guard{}, err
			}
			guard.Rules.Rules = append(guard.Rules.Rules, rules...)
		}
	}
	guard.Rules.Rules = append(guard.Rules.Rules, riskRules()...)
	guard.Expressions = riskExpressions()
	return guard, nil
}

// riskRules ask about calls of high risk and allow those of low risk, as MassGen judges them.
func riskRules() (rules []permission.Rule) {
	// Expressions judge run_command alone. Other tools that run commands need a person for each.
	for _, tool := range slices.Concat(urlTools(), []string{"*http*", "*curl_*"}, commandTools()) {
		rules = append(rules, permission.Rule{Action: permission.Ask, Tool: tool})
	}
	allow := func(line string) { rules = append(rules, commandRule(permission.Allow, line)) }
	for _, program := range strings.Fields("ls cat head tail pwd echo which whoami date wc grep tree stat file") {
		allow(program)
		allow(program + " *")
	}
	for _, command := range strings.Fields("status diff log show branch remote") {
		allow("git " + command + "*")
	}
	for _, tool := range []string{"read_file", "list_files", "search_files", "write_file", "edit_file", "move_file"} {
		rules = append(rules, permission.Rule{Action: permission.Allow, Tool: tool})
	}
	return rules
}

// ofHighRisk finds what MassGen judges to be of high risk in a command, and ofNone what it never runs.
const (
	ofHighRisk = `\b(sudo|su|chmod|chown|dd|fdisk|kill|killall|shutdown|reboot|crontab|systemctl|launchctl` +
		`|curl|wget|nc|netcat|ssh|scp|sftp|rsync|telnet)\b|\bmkfs|\brm\s+-[a-z]*r|\brm\s.*\s?-\S*r` +
		`|\bgit\s+push\b.*(--force|\s-f\b)|--force-with-lease|\bgit\s+(reset\s.*--hard|clean\s.*-[a-z]*f)` +
		`|\b(npm|yarn)\s+publish\b|\bpip\s.*\bupload\b|\btwine\s|\bgh\s+release\s+create\b|\bdocker\s+push\b`
	ofNone = `\brm\s+(-[a-z]*\s+)*-?[a-z]*[rf]+[a-z]*\s+/(\s|$|\*)|\brm\s+-rf\s+/|:\s*\(\s*\)\s*\{\s*:\s*\|\s*:?\s*&\s*\}\s*;\s*:` +
		`|\bdd\b.*\bof=/dev/(sd|nvme|disk|hd)|\bmkfs(\.\w+)?\b|>\s*/dev/(sd|nvme|disk|hd)|\bmv\b.+\s+/dev/null\b`
)

// riskExpressions ask about commands of high risk, and deny what MassGen never runs, whatever the rules say.
func riskExpressions() []permission.Expression {
	list := []permission.Expression{
		{Action: permission.Ask, Tool: runCommand, Argument: argv, Finds: ofHighRisk},
		{Action: permission.Deny, Tool: runCommand, Argument: argv, Finds: ofNone},
	}
	for _, tool := range commandTools() {
		for _, argument := range commandArguments() {
			list = append(list, permission.Expression{Action: permission.Deny, Tool: tool, Argument: argument, Finds: ofNone})
		}
	}
	return list
}

// commandArguments returns the names of the argument that other tools have a command in.
func commandArguments() []string { return []string{"command", "cmd", "script", "code"} }

// urlTools returns patterns of the tools that read the web, as MassGen tells them.
func urlTools() []string {
	return []string{"*fetch*", "*read_url*", "*websearch*", "*web_search*", "*browse*"}
}

// commandTools returns patterns of the tools that run commands, as MassGen tells them, but for run_command.
func commandTools() (tools []string) {
	for _, word := range strings.Fields("bash shell exec run_command terminal") {
		tools = append(tools, "mcp__*"+word+"*", CustomToolPrefix+"*"+word+"*")
	}
	return tools
}

// fileTools returns patterns of the functions in Python, and of the tools of MCP servers for files, that MassGen
// takes for tools of files by these words in their names.
func fileTools(words string) (tools []string) {
	for _, word := range strings.Fields(words) {
		for _, prefix := range []string{CustomToolPrefix, "mcp__filesystem__", "mcp__workspace_tools__", "mcp__workspace_copy__"} {
			tools = append(tools, prefix+"*"+word+"*")
		}
	}
	return tools
}

// pathArguments returns the names of the argument that such tools have a path in.
func pathArguments() []string {
	return []string{"path", "file_path", "destination", "destination_path", "target", "notebook_path"}
}

var massgenRule = regexp.MustCompile(`^\s*([A-Za-z_*][\w*]*)\s*(?:\((.*)\)\s*)?$`)

// massgenRules translates a rule such as write_file(/etc/**).
func massgenRules(action permission.Action, spec string) (rules []permission.Rule, err error) {
	m := massgenRule.FindStringSubmatch(spec)
	if m == nil || strings.ContainsAny(m[2], "[]") {
		return nil, fmt.Errorf("the rule %s cannot be translated", quoted(spec))
	}
	target := strings.ReplaceAll(m[2], "**", "*")
	isAny := target == "" || target == "*"
	add := func(tool, argument string) {
		rule := permission.Rule{Action: action, Tool: tool}
		if !isAny {
			rule.Arguments = map[string]string{argument: target}
		}
		rules = append(rules, rule)
	}
	// addAll adds a rule for each tool, and for each name of the argument if only some targets are meant.
	addAll := func(tools []string, arguments ...string) {
		if isAny {
			arguments = arguments[:1]
		}
		for _, tool := range tools {
			for _, argument := range arguments {
				add(tool, argument)
			}
		}
	}
	switch m[1] {
	case "command":
		add(runCommand, argv)
		if action != permission.Allow {
			addAll(commandTools(), commandArguments()...)
		}
	case "read_file":
		add("read_file", "path")
		add("list_files", "path")
		add("search_files", "path")
		if action != permission.Allow {
			addAll(fileTools("read grep glob list view search cat"), pathArguments()...)
		}
	case "write_file":
		add("write_file", "path")
		add("edit_file", "path")
		add("delete_file", "path")
		add("move_file", "to")
		if action != permission.Allow {
			add("move_file", "from")
			addAll(fileTools("write edit create move copy apply_patch notebook delete remove"), pathArguments()...)
		}
	case "read_url":
		addAll(urlTools(), "url", "domain")
	case "mcp":
		tools := []string{"mcp__" + strings.Replace(target, "/", "__", 1)}
		switch {
		case isAny:
			tools = []string{"mcp__*"}
			if action != permission.Allow {
				tools = append(tools, CustomToolPrefix+"*")
			}
		case action != permission.Allow && !strings.Contains(target, "/") || strings.HasPrefix(target, CustomToolPrefix):
			tools = append(tools, target)
		}
		for _, tool := range tools {
			rules = append(rules, permission.Rule{Action: action, Tool: tool})
		}
	case "*":
		if !isAny {
			return nil, fmt.Errorf("the rule %s cannot be translated", quoted(spec))
		}
		add("*", "")
	default:
		return nil, fmt.Errorf("the rule %s has no action of MassGen", quoted(spec))
	}
	return rules, nil
}
