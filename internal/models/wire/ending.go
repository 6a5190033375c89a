package wire

import (
	"fmt"
	"net/http"

	"github.com/massgen/massgen/internal/models/finish"
	"github.com/massgen/massgen/internal/system/plain"
)

// CheckEnding returns the error of an answer that its provider withheld, or failed to finish, and nil
// for any other. reason is the provider's word for the end, and message its explanation, which may be
// empty.
func CheckEnding(reason, message string) error {
	switch end := finish.Of(reason); {
	case reason == "content_filter" && message == "":
		return &Refusal{Message: "the provider's content filter stopped the answer"}
	case end == finish.Withheld:
		return &Refusal{Message: withMessage("the provider blocked the answer: "+Shorten(reason), message)}
	case end == finish.Failed:
		return gaveUp(reason, message)
	}
	return nil
}

// gaveUp is the error of a service that ended its answer without one. The status decides whether the
// call is repeated, if nothing of the answer had come: a malformed call is the model's mistake, which it
// may not make again.
func gaveUp(reason, message string) error {
	status := http.StatusInternalServerError
	switch reason {
	case "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS":
		status = http.StatusBadRequest
	case "rate_limit", "rate_limited", "rate_limit_exceeded":
		status = http.StatusTooManyRequests
	}
	text := "the service ended the answer: " + Shorten(reason)
	if reason == "error" {
		text = "the service ended the answer with an error that it does not explain"
	}
	body, err := plain.JSON(map[string]any{"error": map[string]any{
		"code": status, "message": withMessage(text, message),
	}})
	if err != nil {
		return err
	}
	return &StreamError{Body: body}
}

func withMessage(text, message string) string {
	if message == "" {
		return text
	}
	return fmt.Sprintf("%s: %s", text, message)
}
