package anthropic

import (
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// encode turns a request, which names its model, into the library's. Its errors
// name what the model or the protocol cannot take.
func encode(req backends.Request, provider string) (sdk.MessageNewParams, error) {
	out := sdk.MessageNewParams{Model: req.Model, StopSequences: req.Params.Stop}
	e := newEncoder(provider, req.Model)
	messages := backends.Repair(req.Messages)
	for i, m := range messages {
		e.continues = i == len(messages)-1 && m.Role == backends.RoleAssistant
		if err := e.add(m); err != nil {
			return out, err
		}
	}
	out.Container = e.container
	out.System, out.Messages = e.system, e.messages
	if len(req.Schema) == 0 { // the service takes no citations beside a schema
		out.Tools = encodeHosted(req.Params.Hosted)
	}
	for _, t := range req.Tools {
		tool, err := encodeTool(t)
		if err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, tool)
	}
	if err := encodeParams(&out, req.Params); err != nil {
		return out, err
	}
	if schema, ok := enforced(req); ok {
		if err := encodeSchema(&out, schema); err != nil {
			return out, err
		}
	}
	markCached(&out, req.Params.CachesForHour())
	return out, nil
}

// encodeSchema asks for a text that fits the schema, which stands as it is
// ("Structured outputs" in the docs of the API, November 2026: from 4.5 on).
func encodeSchema(out *sdk.MessageNewParams, schema json.RawMessage) error {
	if err := CheckSchema(out.Model); err != nil {
		return err
	}
	if err := wire.CheckReplySchema(schema); err != nil {
		return err
	}
	format, err := plain.JSON(map[string]any{"type": "json_schema", "schema": schema})
	if err != nil {
		return fmt.Errorf("encode the schema of the reply: %w", err)
	}
	out.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](format)
	return nil
}

func encodeTool(t backends.Tool) (sdk.ToolUnionParam, error) {
	schema, err := wire.ToolSchema(t)
	if err != nil {
		return sdk.ToolUnionParam{}, err
	}
	tool := sdk.ToolUnionParamOfTool(param.Override[sdk.ToolInputSchemaParam](schema), t.Name)
	if t.Description != "" {
		tool.OfTool.Description = sdk.String(t.Description)
	}
	return tool, nil
}

// markedMessages is how many user messages are marked, from the last. The last one
// is what the next call of a tool loop begins with; the one before it is what the
// present call began with, and is found also after more blocks than the service
// looks back, which is 20.
const markedMessages = 2

// markCached marks where a prefix ends that later calls share: the last tool, the
// system text and the last user messages. The service takes four marks at most
// ("Prompt caching" in the docs of the API), and ignores marks of short prefixes. A
// mark of one hour must not follow one of five minutes, so all marks are the same.
func markCached(p *sdk.MessageNewParams, forHour bool) {
	mark := sdk.NewCacheControlEphemeralParam()
	if forHour {
		mark.TTL = sdk.CacheControlEphemeralTTLTTL1h
	}
	if n := len(p.Tools); n > 0 {
		*p.Tools[n-1].GetCacheControl() = mark
	}
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = mark
	}
	marked := 0
	for i := len(p.Messages) - 1; i >= 0 && marked < markedMessages; i-- {
		content := p.Messages[i].Content
		if p.Messages[i].Role != sdk.MessageParamRoleUser {
			continue
		}
		*content[len(content)-1].GetCacheControl() = mark
		marked++
	}
}
