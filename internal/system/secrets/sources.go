package secrets

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|pwd|auth|credential|cookie`)

// IsName reports whether the value of a variable, header or setting with this name must not be
// shown.
func IsName(name string) bool { return secretName.MatchString(name) }

var keyName = regexp.MustCompile(`(?i)(key|token|secret|passw(or)?d|passphrase|pwd|auth|authorization|credentials?|cookie)$`)

// NamesAKey reports whether a variable, header or setting with this name holds a key or a
// password. It is stricter than IsName, which also accepts MAX_TOKENS.
func NamesAKey(name string) bool { return keyName.MatchString(name) }

// KeysInURL returns those texts of InURL that are keys or passwords by their place: the password,
// and the values in the query whose name is that of a key.
func KeysInURL(address string) (all []string) {
	u := parse(address)
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
	}
	for name, values := range u.Query() {
		if NamesAKey(name) {
			all = append(all, values...)
		}
	}
	return all
}

// InURL returns the secrets of an address: its password, or a long user name without a password,
// each also in base64 as a request has it (RFC 7617), and the values in its query, except a
// version.
func InURL(address string) []string {
	u := parse(address)
	password, _ := u.User.Password()
	all := inCredentials(u.User.Username(), password)
	for name, values := range u.Query() {
		if !strings.Contains(strings.ToLower(name), "version") {
			all = append(all, values...)
		}
	}
	return all
}

// parse reads an address, or as much as it can of one that is no URL. There it takes everything
// between the scheme and the last @ for a user and a password: a character in them may be what
// breaks the address.
func parse(address string) *url.URL {
	u, err := url.Parse(address)
	if err == nil && u.Opaque == "" {
		return u
	}
	u = &url.URL{}
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	if end := strings.LastIndex(rest, "@"); end >= 0 {
		user, password, _ := strings.Cut(rest[:end], ":")
		u.User = url.UserPassword(user, password)
	}
	_, u.RawQuery, _ = strings.Cut(rest, "?")
	return u
}

// shortestName is the length of the shortest user name that counts as a key.
const shortestName = 8

func inCredentials(user, password string) []string {
	if password == "" && len(user) < shortestName {
		return nil
	}
	return []string{cmp.Or(password, user), base64.RawStdEncoding.EncodeToString([]byte(user + ":" + password))}
}

// InHeader returns the secrets of a header: its value, and the part of it behind a scheme such as
// Bearer, or the password in that of Basic. A header is secret by its name, or because its value
// looks like a key.
func InHeader(name, value string) []string {
	if !IsName(name) && (namesSoftware.MatchString(name) || !looksLikeKey(value)) {
		return nil
	}
	scheme, credentials, found := strings.Cut(value, " ")
	if !found {
		return []string{value}
	}
	all := []string{value, credentials}
	if decoded, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "basic") {
		user, password, _ := strings.Cut(string(decoded), ":")
		all = append(all, inCredentials(user, password)...)
	}
	return all
}

// namesSoftware matches headers whose values are names of programs and versions, which look like
// keys.
var namesSoftware = regexp.MustCompile(`(?i)version|beta|agent`)

var longWord = regexp.MustCompile(`^[!-~]{16,}$`)

// looksLikeKey reports whether a text is one long word with letters and digits, and no address.
func looksLikeKey(text string) bool {
	return longWord.MatchString(text) && !strings.Contains(text, "://") && strings.ContainsAny(text, "0123456789") &&
		strings.ContainsAny(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz")
}
