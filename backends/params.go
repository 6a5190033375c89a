package backends

import "fmt"

// ParamError is a parameter that a model, or its service, cannot take.
type ParamError struct {
	// Param is the key that a configuration has for it, as in "reasoning_effort".
	Param string
	// Reason says who cannot take it, and what to do about it.
	Reason string
}

// NewParamError makes a *ParamError of param with a formatted reason.
func NewParamError(param, format string, args ...any) error {
	return &ParamError{Param: param, Reason: fmt.Sprintf(format, args...)}
}

func (e *ParamError) Error() string { return e.Param + ": " + e.Reason }
