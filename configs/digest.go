package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Digest returns a short hash of the settings that decide which calls a turn makes and how
// replies are read: agents, models, tools and their limits, and helpers. Processes that play a
// turn together must have the same digest. Secrets, folders, services' limits and the display
// do not change it, and neither do the rules and the budget, which the client sends along.
func (c *Config) Digest() (string, error) {
	limits := c.Orchestrator.Limits
	of := struct {
		Agents                []Agent
		Helpers               []Backend
		Servers               []MCPServer
		Permissions           Permissions
		DetectTopic, FindFact bool
		DescribeFiles         bool `json:",omitempty"`
		PlanningMode          bool
		TaskPlans             bool   `json:",omitempty"`
		MaxTasks              int    `json:",omitempty"`
		MemoryFiles           bool   `json:",omitempty"`
		PlanningInstruction   string `json:",omitempty"`
		VotingSensitivity     string `json:",omitempty"`
		VotingThreshold       int    `json:",omitempty"`
		Limits                [4]int
		Novelty               novelty
		ToolTimeout           time.Duration
		// Rights are those to context paths. The paths differ from machine to machine.
		Rights [][]string `json:",omitempty"`
		// Consultants are the judge and the model of the verdicts, if they are no agents.
		Consultants   []Backend `json:",omitempty"`
		JudgeMessage  string    `json:",omitempty"`
		AnswerPattern string    `json:",omitempty"`
		Check         *Check    `json:",omitempty"`
	}{
		Helpers: public(c.Summary, c.Topic.Backend, c.Memory.Backend), Servers: publicServers(c.Servers),
		Permissions: c.Permissions, DetectTopic: c.Topic.Made, FindFact: c.Memory.Made, DescribeFiles: c.DescribesFiles(),
		PlanningMode: c.Orchestrator.PlanningMode, Novelty: c.Orchestrator.AnswerNoveltyRequirement, ToolTimeout: c.Orchestrator.ToolTimeout,
		TaskPlans: c.Orchestrator.TaskPlans, MaxTasks: c.Orchestrator.MaxTasks, MemoryFiles: c.Orchestrator.MemoryFiles,
		PlanningInstruction: c.Orchestrator.PlanningInstruction, VotingSensitivity: c.Orchestrator.VotingSensitivity, VotingThreshold: c.Orchestrator.VotingThreshold,
		Rights: rights(c), JudgeMessage: c.Orchestrator.Judge.SystemMessage, AnswerPattern: c.Orchestrator.AnswerPattern,
		Limits: [4]int{limits.MaxTurns, limits.MaxAttempts, limits.MaxToolCalls, limits.ResultLimit},
	}
	if c.Orchestrator.Check.IsSet() {
		of.Check = &c.Orchestrator.Check
	}
	if judge, verdict := c.Orchestrator.Judge.Backend, c.Orchestrator.Verdict; namesModel(judge) || namesModel(verdict) {
		of.Consultants = public(judge, verdict)
	}
	for _, a := range c.Agents {
		a.Backend = public(a.Backend)[0]
		a.Tools.Servers = publicServers(a.Tools.Servers)
		a.Tools.Custom = publicCustom(a.Tools.Custom)
		a.Tools.ContextPaths = nil
		if a.Tools.CWD != "" {
			a.Tools.CWD = "a folder"
		}
		of.Agents = append(of.Agents, a)
	}
	data, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("make a digest of the config: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// publicCustom returns custom tools without their paths, and without the arguments and variables, which may be
// secrets.
func publicCustom(tools []CustomTool) (list []CustomTool) {
	for _, t := range tools {
		list = append(list, CustomTool{Name: t.Name, Function: t.Function, Description: t.Description, Network: t.Network})
	}
	return list
}

// rights returns for the panel and each agent what may be done with its context paths; nil if
// there are none.
func rights(c *Config) (list [][]string) {
	all := [][]ContextPath{c.Orchestrator.ContextPaths}
	for _, a := range c.Agents {
		all = append(all, a.Tools.ContextPaths)
	}
	isAny := false
	for _, paths := range all {
		may := []string{}
		for _, p := range paths {
			isAny = true
			may = append(may, fmt.Sprintf("write %t, protected %d", p.Write, len(p.Protected)))
		}
		list = append(list, may)
	}
	if !isAny {
		return nil
	}
	return list
}

// public returns backends without their secrets.
func public(list ...Backend) (of []Backend) {
	for _, b := range list {
		b.APIKey, b.Params.Headers = "", nil
		b.Fallback = public(b.Fallback...)
		of = append(of, b)
	}
	return of
}

func publicServers(list []MCPServer) (of []MCPServer) {
	for _, s := range list {
		s.Env, s.Headers, s.CWD, s.Command, s.Args, s.URL = nil, nil, "", "", nil, ""
		of = append(of, s)
	}
	return of
}
