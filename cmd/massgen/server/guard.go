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

// Access says who may use a server, and from where. The zero value lets programs of the same
// machine use it.
type Access struct {
	// Tokens are those of which a request has to have one; none lets everybody in.
	Tokens []Token
	// Hosts are names by which the server is called, beside localhost and addresses.
	Hosts []string
	// Origins are those of web pages that may use the server, as https://chat.example.
	Origins []string
}

// Token lets in whoever sends its secret. With several names, each name has sessions of its own.
type Token struct{ Name, Secret string }

// caller is who sent a request.
type caller struct {
	name     string // of the token, "" without one
	hasToken bool
	// owns says that the caller has sessions of its own, and sees no others.
	owns bool
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// guard lets requests through to a mux that come from whom, and from where, they may.
type guard struct {
	Access
	server *Server
	mux    *http.ServeMux
	bodies bodies
	// isShared says that several names have tokens.
	isShared bool
}

func newGuard(s *Server, mux *http.ServeMux) *guard {
	g := &guard{Access: s.Access, server: s, mux: mux}
	for _, t := range g.Tokens {
		g.isShared = g.isShared || t.Name != g.Tokens[0].Name
	}
	return g
}

// isOpen says that a route needs no token: it shows nothing of sessions and models.
func isOpen(pattern string) bool {
	return isPage(pattern) || slices.Contains([]string{"GET /healthz", "GET /readyz"}, pattern)
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), r)
	isPreflight, err := g.checkOrigin(w.Header(), r)
	if err == nil && isPreflight {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err == nil {
		err = g.checkHost(r.Host)
	}
	if _, pattern := g.mux.Handler(r); err == nil && !isOpen(pattern) {
		r, err = g.identify(w.Header(), r)
	}
	if err == nil {
		err = checkType(r)
	}
	release := func() {}
	if err == nil {
		release, err = g.bodies.read(w, r)
	}
	if err != nil {
		g.server.metrics.refused(err)
		g.server.refuse(w, err)
		return
	}
	defer release()
	g.mux.ServeHTTP(w, r)
}

// setHeaders sets what all responses have. A page sets a policy of its own.
func setHeaders(h http.Header, r *http.Request) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if len(r.TransferEncoding) > 0 {
		// A Content-Length beside it was ignored, by which a proxy may have gone: what follows on
		// this connection is not taken for a request.
		h.Set("Connection", "close")
	}
}

// checkHost refuses a name that is not the server's: a web page whose own name leads here
// (DNS rebinding) sends that one. Nobody can have an address for a name.
func (g *guard) checkHost(host string) error {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || slices.Contains(g.Hosts, name) {
		return nil
	}
	return refusal{
		status: http.StatusForbidden, code: "host_not_allowed",
		message: "the request is for the host " + shortened(host) + ", which is not this server's: start it with --allow-host if it is",
	}
}

// checkOrigin refuses what the pages of other sites have browsers send. A request without the
// headers of a browser comes from a program. isPreflight says that a browser only asks what an
// allowed page may send.
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
	if len(r.Header.Values("Origin")) != 1 || !slices.Contains(g.Origins, origin) {
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
	// Clients have headers of their own, such as X-Stainless-OS; the page is trusted with any.
	h.Set("Access-Control-Allow-Headers", headerValue(r.Header.Get("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", "600")
	return true, nil
}

// checkSite goes by what browsers say of requests that have no origin: only a link from another
// site may lead here.
func checkSite(r *http.Request) error {
	site, isLink := r.Header.Get("Sec-Fetch-Site"), r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	if site == "" || site == "same-origin" || site == "none" || isLink {
		return nil
	}
	return refusal{status: http.StatusForbidden, code: "origin_not_allowed", message: "pages of other sites may not use this server"}
}

// identify returns the request with its caller, whose token it has to have.
func (g *guard) identify(h http.Header, r *http.Request) (*http.Request, error) {
	if len(g.Tokens) == 0 {
		return r, nil
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Sums have one length, so the time tells nothing of the secrets, and all are compared.
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	found := -1
	for i, t := range g.Tokens {
		own := sha256.Sum256([]byte(t.Secret))
		if subtle.ConstantTimeCompare(sum[:], own[:]) == 1 {
			found = i
		}
	}
	if found < 0 || !strings.EqualFold(scheme, "Bearer") {
		h.Set("WWW-Authenticate", `Bearer realm="massgen"`)
		return nil, refusal{
			status: http.StatusUnauthorized, code: "invalid_api_key",
			message: "the request has no token of this server: send one as the API key (Authorization: Bearer TOKEN)",
		}
	}
	c := caller{name: g.Tokens[found].Name, hasToken: true, owns: g.isShared}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c)), nil
}

// needsToken is for what not even the programs of this machine may do without a token.
func (s *Server) needsToken(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if callerOf(r.Context()).hasToken {
			do(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="massgen"`)
		s.refuse(w, refusal{
			status: http.StatusUnauthorized, code: "token_needed",
			message: "this needs a token: start the server with --token-file or MASSGEN_TOKEN",
		})
	}
}

// checkType refuses a body that is not JSON. A page of another site can send only others without
// asking first.
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

// sessionID returns the id in the store of a session that a client names. Where several names
// have tokens, the id says whose it is, as its user: what is remembered of users is the token's
// too then. Of what is another's a client learns as little as of what is not there.
func (s *Server) sessionID(ctx context.Context, id string) (string, error) {
	c := callerOf(ctx)
	if c.owns && !strings.Contains(id, "|") {
		id += ownedBy(c.name)
	}
	if err := sessions.CheckID(id); err != nil {
		return "", badRequest("metadata.session_id", "metadata.session_id: "+plain.Line(err.Error()))
	}
	if !s.mayUse(ctx, id) {
		return "", sessions.NoSession(id)
	}
	return id, nil
}

// mayUse says whether a session, by its id in the store, is one that the caller may read and
// change.
func (s *Server) mayUse(ctx context.Context, id string) bool {
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

// ownFilter chooses the sessions that a caller may list. Their metadata can say something else
// than their ids: mayUse decides.
func ownFilter(ctx context.Context) map[string]string {
	if c := callerOf(ctx); c.owns {
		return map[string]string{sessions.MetaUser: c.name}
	}
	return nil
}
