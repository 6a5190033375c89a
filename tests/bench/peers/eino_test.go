package peers_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// einoModel answers, or calls a tool.
type einoModel struct{ work work }

// WithTools implements model.ToolCallingChatModel.
func (m einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// Generate implements model.BaseChatModel.
func (m einoModel) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	reply := schema.AssistantMessage(answer, nil)
	if m.work.tool && input[len(input)-1].Role != schema.Tool {
		reply = schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Type: "function", Function: schema.FunctionCall{Name: toolName, Arguments: toolArgs}}})
	}
	reply.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{PromptTokens: 10, CompletionTokens: 10, TotalTokens: 20}}
	return reply, nil
}

// Stream implements model.BaseChatModel.
func (m einoModel) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	reply, err := m.Generate(ctx, input, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{reply}), err
}

// einoInMemory makes an agent of the ADK, and its runner. eino has no sessions: its caller keeps
// the messages.
func einoInMemory(b *testing.B, w work) ask {
	config := &adk.ChatModelAgentConfig{Name: "agent", Description: "Answers.", Model: einoModel{w}}
	if w.tool {
		look, err := utils.InferTool(toolName, toolText, func(_ context.Context, args lookArgs) (string, error) { return looked(args.What), nil })
		if err != nil {
			b.Fatal(err)
		}
		config.ToolsConfig = adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{look}}}
	}
	agent, err := adk.NewChatModelAgent(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	runner := adk.NewRunner(b.Context(), adk.RunnerConfig{Agent: agent})
	sessions := map[string][]adk.Message{}
	return func(ctx context.Context, session string) (string, error) {
		messages := append(sessions[session], schema.UserMessage(question))
		events := runner.Run(ctx, messages)
		last := ""
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				return "", event.Err
			}
			message, _, err := adk.GetMessage(event)
			if err != nil {
				return "", err
			}
			messages, last = append(messages, message), message.Content
		}
		sessions[session] = messages
		return last, nil
	}
}
