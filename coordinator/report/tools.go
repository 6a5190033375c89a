package report

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/fastjson"
)

// ToolsChange names the tools in which an agent's list differs from the one before it, each
// list sorted.
type ToolsChange struct {
	Added     []string `json:"added,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Described []string `json:"described_anew,omitempty"`
}

// CompareTools compares two lists of tools, by name.
func CompareTools(before, after map[string]backends.Tool) (c ToolsChange) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		was, known := before[name]
		now := after[name]
		switch {
		case !known:
			c.Added = append(c.Added, name)
		case was.Description != now.Description || string(was.Schema) != string(now.Schema):
			c.Described = append(c.Described, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			c.Removed = append(c.Removed, name)
		}
	}
	return c
}

func byName(list []backends.Tool) map[string]backends.Tool {
	tools := map[string]backends.Tool{}
	for _, tool := range list {
		tools[tool.Name] = tool
	}
	return tools
}

// readTools returns a list of tools, empty if it cannot be read.
func (r *Report) readTools(ref blob.Ref) (list []backends.Tool) {
	if data, err := r.texts(ref); err != nil || json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}

// toolsOf names the tools that a call offers.
func (r *Report) toolsOf(c effect.ModelCall) []string {
	names := []string{}
	if c.Key.Purpose == effect.Coordination && !c.JSON {
		if c.Offer.MayAnswer {
			names = append(names, effect.NewAnswer)
		}
		names = append(names, effect.Vote)
	}
	if !c.OwnTools {
		return names
	}
	for _, tool := range r.offeredBy(r.machine.Turn().ToolsOf(c)) {
		if !tool.Forwarded || c.Key.Purpose.IsAnswer() {
			names = append(names, tool.Name)
		}
	}
	return names
}

// offeredTools is a list of an agent's own tools, without what only their models read.
type offeredTools struct {
	ref   blob.Ref
	tools []offeredTool
}

type offeredTool struct {
	Name      string `json:"name"`
	Forwarded bool   `json:"forwarded"`
}

// offeredBy returns a list of tools, empty if it cannot be read.
func (r *Report) offeredBy(ref blob.Ref) []offeredTool {
	i := slices.IndexFunc(r.offered, func(o offeredTools) bool { return o.ref == ref })
	if i >= 0 {
		return r.offered[i].tools
	}
	data, err := r.texts(ref)
	if err != nil {
		return nil
	}
	var tools []offeredTool
	if fastjson.Unmarshal(data, &tools) != nil {
		return nil
	}
	r.offered = append(r.offered, offeredTools{ref, tools})
	return tools
}
