package gemini

import (
	"encoding/json"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// The wire format is that of the Gemini API's reference, "Generating content":
// https://ai.google.dev/api/generate-content and https://ai.google.dev/api/caching#Content.

// The roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// content is one entry of a conversation. Each of its parts is a *part, or a
// json.RawMessage that goes back as it came.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []any  `json:"parts"`
}

// part is one piece of a content. Text is a pointer since an empty text counts: a
// part that only carries a signature has one, and without it is no part.
type part struct {
	Text             *string           `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	InlineData       *blob             `json:"inlineData,omitempty"`
	FileData         *fileData         `json:"fileData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type fileData struct {
	MimeType string `json:"mimeType,omitempty"`
	FileURI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

// functionResponse is the result of a call, under "output", or under "error" if
// the tool failed.
type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	// Parts are the files beside that.
	Parts []*part `json:"parts,omitempty"`
}

type tools struct {
	FunctionDeclarations []functionDeclaration `json:"functionDeclarations"`
}

type functionDeclaration struct {
	Name                 string          `json:"name"`
	Description          string          `json:"description,omitempty"`
	ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
}

// chunk is one piece of a streamed answer ("GenerateContentResponse").
type chunk struct {
	Candidates     []candidate     `json:"candidates"`
	PromptFeedback feedback        `json:"promptFeedback"`
	UsageMetadata  json.RawMessage `json:"usageMetadata"`
}

// isAnswer reports whether body is the whole answer of a service that does not stream.
func isAnswer(body []byte) bool {
	var fields struct {
		Candidates     json.RawMessage `json:"candidates"`
		PromptFeedback json.RawMessage `json:"promptFeedback"`
	}
	return json.Unmarshal(body, &fields) == nil && (fields.Candidates != nil || fields.PromptFeedback != nil)
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`

	GroundingMetadata  json.RawMessage `json:"groundingMetadata"`
	URLContextMetadata json.RawMessage `json:"urlContextMetadata"`
}

type feedback struct {
	BlockReason        string `json:"blockReason"`
	BlockReasonMessage string `json:"blockReasonMessage"`
}

// usage counts tokens. The prompt's count includes the cached ones, the
// candidates' not the thoughts. Each chunk repeats what was counted until then.
type usage struct {
	PromptTokenCount        wire.Count `json:"promptTokenCount"`
	ToolUsePromptTokenCount wire.Count `json:"toolUsePromptTokenCount"`
	CachedContentTokenCount wire.Count `json:"cachedContentTokenCount"`
	CandidatesTokenCount    wire.Count `json:"candidatesTokenCount"`
	ThoughtsTokenCount      wire.Count `json:"thoughtsTokenCount"`
}

// Usage returns the counts in the words of package backends.
func (u usage) Usage() backends.Usage {
	return backends.Usage{
		InputTokens:       wire.Sum(u.PromptTokenCount, u.ToolUsePromptTokenCount),
		OutputTokens:      wire.Sum(u.CandidatesTokenCount, u.ThoughtsTokenCount),
		CachedInputTokens: int(u.CachedContentTokenCount),
		ReasoningTokens:   int(u.ThoughtsTokenCount),
	}
}
