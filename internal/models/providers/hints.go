package providers

import (
	"context"
	"errors"
	"iter"
	"net/url"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/httpclient"
	"github.com/massgen/massgen/internal/system/plain"
)

// hintingBackend adds to what went wrong with a call what can be done about it:
// only here it is known where the key and the address came from.
type hintingBackend struct {
	backends.Backend
	provider   provider
	connection connection
	keyVar     string
}

func (b hintingBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	stream := b.Backend.Stream(ctx, req)
	return func(yield func(backends.Event, error) bool) {
		for ev, err := range stream {
			if err != nil {
				err = withHint(b.provider, b.connection, b.keyVar, err)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// withHint returns err with a cure at its end, if there is one to name.
func withHint(p provider, c connection, keyVar string, err error) error {
	var e *backends.Error
	if !errors.As(err, &e) {
		return err
	}
	cure, place := "", shownURL(c.baseURL)
	switch {
	case httpclient.IsLocalFault(err):
		cure = "this machine or process has run out of open files, ports or memory: raise the limit (ulimit -n), or ask fewer agents at a time"
	case e.Kind == backends.KindAuth:
		cure = "check " + keyPlace(p, c, keyVar)
	case e.Kind == backends.KindNetwork && !e.Begun && p.hint != "":
		cure = "is " + p.title + " running at " + place + "? " + p.hint
	case e.Kind == backends.KindNetwork && !e.Begun:
		cure = "is " + place + " right, and can it be reached from here?"
	case e.Status == notFound && p.overResponses(c):
		cure = "is the model " + c.model + " right, and does base_url " + place + " speak the Responses API? If not, set api: chat"
	case e.Status == notFound:
		cure = "is the model " + c.model + " right, and base_url " + place + "?"
	case e.Status >= 300 && e.Status < 400:
		cure = place + " sends elsewhere: set base_url to where that is"
	case e.Kind == backends.KindTooLong && e.Status == tooManyRequests:
		cure = "no wait helps: shorten the input or lower max_tokens, or look at what your plan at " + place + " allows"
	case e.Kind == backends.KindRateLimit:
		cure = "wait, or look at what your plan at " + place + " allows"
	case e.Status >= 500:
		cure = "the fault is at " + place + ": try again later, or another model"
	}
	if cure == "" {
		return err
	}
	hinted := *e
	hinted.Message += ": " + cure
	return &hinted
}

// The HTTP statuses that need another cure than the rest of their kind.
const (
	notFound        = 404
	tooManyRequests = 429
)

func keyPlace(p provider, c connection, keyVar string) string {
	switch {
	case keyVar != "":
		return "the key in " + keyVar
	case c.key != "":
		return "api_key in the config"
	case len(p.keyVars) > 0:
		return "the key: none was sent; set " + p.keyVars[0]
	}
	return "the key: none was sent; set api_key in a config, or name the --backend whose key is meant"
}

// shownURL leaves out what may be secret in an address.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return plain.Line(u.String())
}
