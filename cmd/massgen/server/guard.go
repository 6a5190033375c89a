package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Access limits who may use a server, and from where. The zero value lets programs of the same
// machine use it.
type Access struct {
	// Tokens are the accepted tokens. A request needs one of them; an empty list lets everybody in.
	Tokens []Token
	// PageKey lets the person at the web page of a server without tokens do what needs a token: the page sends the key,
	// which only the program's terminal shows. No request has that right if PageKey is empty.
	PageKey string
	// Hosts are the server's names, beside localhost and addresses.
	Hosts []string
	// Origins are the origins of web pages that may use the server, such as https://chat.example.
	Origins []string
}

// Token lets in every request with its secret. With several names, each name has its own sessions.
type Token struct{ Name, Secret string }

// caller is the sender of a request.
type caller struct {
	name     string // of the token, "" without one
	hasToken bool
	// owns reports that the caller has its own sessions, and sees no others.
	owns bool
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// guard passes allowed requests on to a mux.
type guard struct {
	access  Access
	respond responder
	metrics tally
	mux     *http.ServeMux
	bodies  bodies
	// isShared reports that several names have tokens.
	isShared bool
}

func newGuard(access Access, respond responder, metrics tally, mux *http.ServeMux) *guard {
	g := &guard{access: access, respond: respond, metrics: metrics, mux: mux}
	for _, t := range access.Tokens {
		g.isShared = g.isShared || t.Name != access.Tokens[0].Name
	}
	return g
}

// isOpen reports whether a route needs no token because it shows no sessions and no models, as the
// files of the page do.
func isOpen(pattern string) bool {
	return pattern == "GET /healthz" || pattern == "GET /readyz" || pagePaths()[pattern] != ""
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timed, own := newTimedWriter(w), w
	defer timed.allow() // for what the server still writes
	w = timed
	setHeaders(w.Header(), r)
	isPreflight, err := g.checkOrigin(w.Header(), r)
	if err == nil && isPreflight {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err == nil {
		err = g.checkHost(r.Host)
	}
	_, pattern := g.mux.Handler(r)
	if err == nil && !isOpen(pattern) {
		r, err = g.identify(w.Header(), r)
	}
	if err == nil {
		err = checkType(r)
	}
	release := func() {}
	switch {
	case err != nil:
	case isOpen(pattern):
		if r.Body != http.NoBody { // nobody reads it: a stranger would fill the budget of all bodies
			w.Header().Set("Connection", "close")
		}
	default:
		release, err = g.bodies.read(own, r) // http.MaxBytesReader must know the server's own writer
		if err == nil && slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, r.Method) {
			release() // nobody reads it
			err = r.Body.Close()
		}
	}
	if err != nil {
		g.metrics.refused(err)
		g.respond.refuse(w, err)
		return
	}
	defer release()
	g.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, release)))
}

// setHeaders sets the headers of all responses. A page replaces the policy with its own.
func setHeaders(h http.Header, r *http.Request) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if len(r.TransferEncoding) > 0 {
		// The server ignored a Content-Length beside it, but a proxy may have used it. So the server
		// reads no further request from this connection.
		h.Set("Connection", "close")
	}
}

// checkHost refuses a name that is not the server's, such as the name of a web page that resolves to
// this machine (DNS rebinding). Addresses cannot be such a name.
func (g *guard) checkHost(host string) error {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || slices.Contains(g.access.Hosts, name) {
		return nil
	}
	return refusal{
		status: http.StatusForbidden, code: "host_not_allowed",
		message: "the request is for the host " + shortened(host) + ", which is not this server's: start it with --allow-host if it is",
	}
}

// checkOrigin refuses requests that browsers send for the pages of other sites. A request without the
// headers of a browser comes from a program. isPreflight reports that a browser only asks whether an
// allowed page may send the request.
func (g *guard) checkOrigin(h http.Header, r *http.Request) (isPreflight bool, err error) {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false, checkSite(r)
	}
	at, err := url.Parse(origin)
	isSame := err == nil && at.Host != "" && strings.EqualFold(at.Host, r.Host)
	if len(r.Header.Values("Origin")) == 1 && isSame {
		return false, nil
	}
	if len(r.Header.Values("Origin")) != 1 || !slices.Contains(g.access.Origins, origin) {
		return false, refusal{
			status: http.StatusForbidden, code: "origin_not_allowed",
			message: "pages of " + shortened(origin) + " may not use this server: start it with --allow-origin if they may",
		}
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", sessionHeader+", "+mcpSession+", Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false, nil
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	// Clients send their own headers, such as X-Stainless-OS; the page may send any.
	h.Set("Access-Control-Allow-Headers", headerValue(r.Header.Get("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", "600")
	return true, nil
}

// checkSite checks a request without an origin by the headers of browsers. Another site may only link
// here.
func checkSite(r *http.Request) error {
	site, isLink := r.Header.Get("Sec-Fetch-Site"), r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	if site == "" || site == "same-origin" || site == "none" || isLink {
		return nil
	}
	return refusal{status: http.StatusForbidden, code: "origin_not_allowed", message: "pages of other sites may not use this server"}
}

// bearer returns the token of a request. The scheme has no case (RFC 9110, 11.1).
func bearer(r *http.Request) (token string, isBearer bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// identify returns the request with its caller. It refuses a request without a valid token.
func (g *guard) identify(h http.Header, r *http.Request) (*http.Request, error) {
	secret, isBearer := bearer(r)
	if len(g.access.Tokens) == 0 {
		if key := g.access.PageKey; key != "" && subtle.ConstantTimeCompare([]byte(secret), []byte(key)) == 1 {
			r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{hasToken: true}))
		}
		return r, nil
	}
	// The sums have one length and all are compared, so the time reveals nothing about the secrets.
	sum := sha256.Sum256([]byte(secret))
	found := -1
	for i, t := range g.access.Tokens {
		own := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(sum[:], own[:]) == 1 {
			found = i
		}
	}
	if found < 0 || !isBearer {
		h.Set("WWW-Authenticate", `Bearer realm="massgen"`)
		return nil, refusal{
			status: http.StatusUnauthorized, code: "invalid_api_key",
			message: "the request has no token of this server: send one as the API key (Authorization: Bearer TOKEN)",
		}
	}
	c := caller{name: g.access.Tokens[found].Name, hasToken: true, owns: g.isShared}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c)), nil
}

// needsToken returns a handler that even programs of this machine may not use without a token or the key of the page.
func (o responder) needsToken(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).hasToken {
			do(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="massgen"`)
		o.refuse(w, refusal{
			status: http.StatusUnauthorized, code: "token_needed",
			message: "this needs a token: open the page at the address that massgen serve has printed, or start the server with --token-file or MASSGEN_TOKEN",
		})
	}
}

// checkType refuses a body that is not JSON. Without a preflight, a page of another site can only send
// other types.
func checkType(r *http.Request) error {
	text := r.Header.Get("Content-Type")
	if text == "" || r.Body == http.NoBody {
		return nil
	}
	kind, _, err := mime.ParseMediaType(text)
	if err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return nil
	}
	return refusal{
		status: http.StatusUnsupportedMediaType, code: "unsupported_media_type",
		message: "the body is " + shortened(text) + ": send JSON, with Content-Type: application/json (curl --json)",
	}
}

// sessionID returns the id in the store of a session that a client names. If several names have
// tokens, the id contains the caller's name as its user, so remembered facts belong to that name too.
// For another name's session the error is the same as for a missing one.
func sessionID(ctx context.Context, id string) (string, error) {
	c := callerOf(ctx)
	if c.owns && !strings.Contains(id, "|") {
		id += ownedBy(c.name)
	}
	if err := sessions.CheckID(id); err != nil {
		return "", badRequest("metadata.session_id", "metadata.session_id: "+plain.Line(err.Error()))
	}
	if !mayUse(ctx, id) {
		return "", sessions.NoSession(id)
	}
	return id, nil
}

// mayUse reports whether the caller may read and change a session, by its id in the store.
func mayUse(ctx context.Context, id string) bool {
	c := callerOf(ctx)
	return !c.owns || sessions.ParseID(id)[sessions.MetaUser] == c.name
}

// newID returns the id of a new session of the caller.
func newID(ctx context.Context) string {
	if c := callerOf(ctx); c.owns {
		return sessions.NewID() + ownedBy(c.name)
	}
	return sessions.NewID()
}

func ownedBy(name string) string { return "|massgen_" + name }

// ownFilter returns the filter for the sessions that a caller may list. Metadata can differ from ids,
// so the caller also checks mayUse.
func ownFilter(ctx context.Context) map[string]string {
	if c := callerOf(ctx); c.owns {
		return map[string]string{sessions.MetaUser: c.name}
	}
	return nil
}
