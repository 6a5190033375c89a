package gemini

import (
	"fmt"
	"net/http"

	"google.golang.org/genai"

	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// stopped returns the error that a finish reason is, or nil. A reason that is not
// known here is one, too: what it ended is no answer to count on. FUNCTION_CALL is
// not Google's: services that imitate its own end an answer with calls so.
func stopped(reason, message string) error {
	switch genai.FinishReason(reason) {
	case genai.FinishReasonStop, genai.FinishReasonMaxTokens, genai.FinishReasonContinuation, "FUNCTION_CALL":
		return nil
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage,
		genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII,
		genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation,
		"MODEL_ARMOR":
		return blocked("the answer", reason, message)
	case genai.FinishReasonTooManyToolCalls, "MISSING_THOUGHT_SIGNATURE":
		return gaveUp(http.StatusBadRequest, reason, message)
	}
	// A malformed call is the model's mistake, which it may not make again.
	return gaveUp(http.StatusInternalServerError, reason, message)
}

// blocked is the error of what the provider withheld.
func blocked(what, reason, message string) error {
	return &wire.Refusal{Message: withMessage(fmt.Sprintf("the provider blocked %s: %s", what, reason), message)}
}

// gaveUp is the error of a service that ended its answer without one, with the HTTP
// status that it would have had.
func gaveUp(status int, reason, message string) error {
	body, err := plain.JSON(map[string]any{"error": map[string]any{
		"code": status, "message": withMessage("the service ended the answer: "+reason, message),
	}})
	if err != nil {
		return err
	}
	return &wire.StreamError{Body: body}
}

func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return text + ": " + message
}
