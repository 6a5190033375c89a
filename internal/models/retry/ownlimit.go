package retry

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
)

// withoutOwnLimit changes the call after the service has refused the program's own output limit: to what
// the service's words leave for the output, or to no limit. It does so once, and reports whether the call
// can be sent again. sent is the request that was refused.
func (c *call) withoutOwnLimit(sent backends.Request, refusal *backends.Error) bool {
	if !c.options.OwnLimit || c.refitted || sent.Params.MaxTokens == nil || !refusesOutput(refusal) || refusal.Begun || c.begun || c.ctx.Err() != nil {
		return false
	}
	limit := *sent.Params.MaxTokens
	room, window := outputRoom(refusal.Message)
	if room < 0 {
		return false // the input alone is too long
	}
	c.refitted = true
	if window > 0 && window <= limit {
		c.small.Store(sent.Model, window)
	}
	c.req.Params.MaxTokens = nil
	if room > 0 && room < limit {
		c.req.Params.MaxTokens = &room
	}
	return true
}

// fitted returns req as it is sent. A program's own output limit that is no smaller than the model's
// window bounds nothing, and the service would refuse it.
func (c *call) fitted(req backends.Request) backends.Request {
	window, known := c.small.Load(req.Model)
	if most := req.Params.MaxTokens; known && c.options.OwnLimit && most != nil && *most >= window.(int) {
		req.Params.MaxTokens = nil
	}
	return req
}

var (
	// outputLimit matches the words for the output in a refusal.
	outputLimit = regexp.MustCompile(`(?i)max[ _]?(completion|output|new)?[ _]?tokens|\bin the completion|for the completion|(output|completion) (tokens|length)|requested tokens`)
	// windowSize, inputSize and outputSize match a model's window, what the input takes of it, and the
	// most output that the model writes at all.
	windowSize = regexp.MustCompile(`(?i)context (?:length|window|size|limit)(?: is| of|:)? *(?:only )?(\d[\d,]*)|max_new_tokens.? must be <= *(\d[\d,]*)`)
	inputSize  = regexp.MustCompile(`(?i)(at least )?(\d[\d,]*) (?:in the messages|in your prompt|(?:input|prompt) tokens|tokens from the input|tokens in the (?:messages|prompt|input)|.?inputs.? tokens)`)
	outputSize = regexp.MustCompile(`(?i)(?:supports? at most|> *) *(\d[\d,]*)(?: (?:completion|output)? ?tokens|, which is the maximum allowed number of output tokens)`)
	// sum matches Claude's words: the input, the output and the window.
	sum = regexp.MustCompile(`(\d[\d,]*) \+ \d[\d,]* > (\d[\d,]*)`)
)

// refusesOutput reports whether a service refuses a request for the output that it may have.
func refusesOutput(e *backends.Error) bool {
	isRefused := slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusRequestedRangeNotSatisfiable}, e.Status)
	return isRefused && (e.Kind == backends.KindTooLong || e.Kind == backends.KindBadRequest) && outputLimit.MatchString(e.Message)
}

// outputRoom returns how many tokens a refusal leaves for the output, 0 if it does not say, and a negative
// number if the input leaves none. It also returns the model's window, 0 if the refusal does not say.
func outputRoom(message string) (room, window int) {
	if found := sum.FindStringSubmatch(message); found != nil {
		window = tokens(found[2])
		return roomBeside(tokens(found[1]), window), window
	}
	if found := windowSize.FindStringSubmatch(message); found != nil {
		window = tokens(found[1] + found[2])
		// The service that writes "at least" has stopped to count: it knows the output and the window.
		if input := inputSize.FindStringSubmatch(message); input != nil && input[1] == "" {
			return roomBeside(tokens(input[2]), window), window
		}
		return 0, window
	}
	if found := outputSize.FindStringSubmatch(message); found != nil {
		return tokens(found[1]), 0
	}
	return 0, 0
}

// roomBeside returns what an input leaves of a window, and -1 if that is nothing.
func roomBeside(input, window int) int {
	if input >= window {
		return -1
	}
	return window - input
}

// tokens reads a number that may have commas, 0 if it is too large.
func tokens(digits string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
	if err != nil {
		return 0
	}
	return n
}
