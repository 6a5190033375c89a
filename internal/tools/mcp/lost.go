package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
)

// sessionHeader names the session of a request over streamable HTTP.
const sessionHeader = "Mcp-Session-Id"

// mostRefusal is how many bytes of a refusal are read to see whether it is about the session.
const mostRefusal = 64 << 10

// aboutSession matches the refusals of servers that do not know the session.
var aboutSession = regexp.MustCompile(`(?i)session|not initialized|initialize request`)

// isLost reports whether a response says that the server does not know the session. The protocol wants
// 404; servers also answer 410, 401, and 400 with a word about the session. Such a request was not run.
func isLost(resp *http.Response) (lost bool, err error) {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone, http.StatusUnauthorized:
		return true, nil
	case http.StatusBadRequest:
		begin, err := io.ReadAll(io.LimitReader(resp.Body, mostRefusal))
		if err != nil {
			return false, errors.Join(err, resp.Body.Close())
		}
		resp.Body = readBefore{io.MultiReader(bytes.NewReader(begin), resp.Body), resp.Body}
		return aboutSession.Match(begin), nil
	}
	return false, nil
}

// readBefore is a body whose beginning was read already.
type readBefore struct {
	io.Reader
	io.Closer
}

// asLost returns a response as the SDK knows a lost session: 404 and no message.
func asLost(resp *http.Response) *http.Response {
	resp.Body.Close()
	resp.Status, resp.StatusCode, resp.Body, resp.ContentLength = "404 Not Found", http.StatusNotFound, http.NoBody, 0
	resp.Header = http.Header{}
	return resp
}

// speaksOlder reports whether the status of the first request may be that of a server with the transport
// HTTP+SSE of 2024-11-05, which takes no POST at its address ("Backwards compatibility" in the protocol).
func speaksOlder(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}
