package gemini

import "github.com/massgen/massgen/internal/models/wire"

// blockedPrompt is the error of a prompt that the provider withheld from the model.
func blockedPrompt(reason, message string) error {
	text := "the provider blocked the prompt: " + reason
	if message != "" {
		text += ": " + message
	}
	return &wire.Refusal{Message: text}
}
