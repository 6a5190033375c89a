package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// encoder makes the messages of one request. Their roles alternate: what follows in
// the same role joins the message before it, and tool results are the user's.
// System messages become blocks of the system text, wherever they stand.
type encoder struct {
	provider, model string

	system   []sdk.TextBlockParam
	messages []sdk.MessageParam

	// continues reports whether the message is the request's last, which the answer continues.
	continues bool
	container sdk.MessageCreateParamsContainerUnion // where the code of that answer runs

	ids  map[string]bool   // all that tool calls have on the wire
	sent map[string]string // by its own id, the id on the wire of the latest call
}

func newEncoder(provider, model string) *encoder {
	return &encoder{provider: provider, model: model, ids: map[string]bool{}, sent: map[string]string{}}
}

func (e *encoder) add(m backends.Message) error {
	if m.Role == backends.RoleSystem {
		return e.addSystem(m)
	}
	role := sdk.MessageParamRoleUser
	if m.Role == backends.RoleAssistant {
		role = sdk.MessageParamRoleAssistant
	}
	blocks, err := e.blocks(m)
	if err != nil || len(blocks) == 0 {
		return err
	}
	if n := len(e.messages); n > 0 && e.messages[n-1].Role == role {
		e.messages[n-1].Content = append(e.messages[n-1].Content, blocks...)
		return nil
	}
	e.messages = append(e.messages, sdk.MessageParam{Role: role, Content: blocks})
	return nil
}

func (e *encoder) addSystem(m backends.Message) error {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			if !isBlank(p.Text) {
				e.system = append(e.system, sdk.TextBlockParam{Text: p.Text})
			}
		case backends.Image, backends.File:
			return errors.New("an image in a system message cannot be sent to Claude")
		}
	}
	return nil
}

// isBlank reports whether a text has nothing to read. The service refuses such a block.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// blocks returns what can be sent of a message. Reasoning is not sent back: what
// counts of it is in the opaque part beside it.
func (e *encoder) blocks(m backends.Message) ([]sdk.ContentBlockParamUnion, error) {
	var out []sdk.ContentBlockParamUnion
	parts := m.Parts
	if !e.continues {
		parts = withoutOpenCalls(parts)
	}
	for _, p := range parts {
		switch p := p.(type) {
		case backends.Text:
			if !isBlank(p.Text) {
				out = append(out, sdk.NewTextBlock(p.Text))
			}
		case backends.Image:
			image, err := encodeImage(p, m.Role)
			if err != nil {
				return nil, err
			}
			out = append(out, image)
		case backends.File:
			file, err := encodeFile(p, m.Role)
			if err != nil {
				return nil, err
			}
			out = append(out, file)
		case backends.Opaque:
			id, isContainer := containerOf(p)
			switch own := m.Role == backends.RoleAssistant && p.Provider == e.provider && p.Model == e.model; {
			case own && isContainer && e.continues:
				e.container.OfString = sdk.String(id)
			case own && !isContainer:
				out = append(out, param.Override[sdk.ContentBlockParamUnion](p.Data))
			}
		case backends.ToolCall:
			out = append(out, sdk.NewToolUseBlock(e.callID(p.ID), json.RawMessage(p.Arguments), p.Name))
		case backends.ToolResult:
			result, err := encodeResult(p, e.sent[p.CallID])
			if err != nil {
				return nil, err
			}
			out = append(out, result)
		}
	}
	return out, nil
}

func encodeResult(r backends.ToolResult, id string) (sdk.ContentBlockParamUnion, error) {
	result := sdk.ToolResultBlockParam{ToolUseID: id}
	if r.IsError {
		result.IsError = sdk.Bool(true)
	}
	if !isBlank(r.Content) {
		text := sdk.TextBlockParam{Text: r.Content}
		result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &text}}
	}
	for _, f := range r.Files {
		block, err := encodeFile(f, backends.RoleUser)
		if err != nil {
			return block, err
		}
		result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: block.OfImage, OfDocument: block.OfDocument})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &result}, nil
}

// callID returns the id that a call has on the wire, and keeps it for its result.
// The service takes only letters, digits, "_" and "-", and wants the ids of a
// conversation to differ, whereas other services use dots and colons or count the
// calls of each message from 0. The same conversation gives the same ids.
func (e *encoder) callID(id string) string {
	base := id
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(id) {
		base = wire.ShortID(id)
	}
	onWire := base
	for n := 2; e.ids[onWire]; n++ {
		onWire = fmt.Sprintf("%s_%d", base, n)
	}
	e.ids[onWire], e.sent[id] = true, onWire
	return onWire
}

func encodeImage(p backends.Image, role backends.Role) (sdk.ContentBlockParamUnion, error) {
	if role != backends.RoleUser {
		return sdk.ContentBlockParamUnion{}, fmt.Errorf("an image in a message of role %s cannot be sent to Claude", role)
	}
	if len(p.Data) == 0 {
		return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: p.URL}), nil
	}
	known := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if !slices.Contains(known, p.MediaType) {
		return sdk.ContentBlockParamUnion{}, fmt.Errorf("an image of type %q cannot be sent to Claude, which takes %s",
			p.MediaType, strings.Join(known, ", "))
	}
	return sdk.NewImageBlockBase64(p.MediaType, base64.StdEncoding.EncodeToString(p.Data)), nil
}
