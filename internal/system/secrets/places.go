package secrets

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

// IsName says whether the value of a variable, header or setting of this name must
// not be shown.
func IsName(name string) bool {
	return regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|pwd|auth|credential|cookie`).MatchString(name)
}

// NamesAKey reports whether a variable, header or setting of this name holds a key or a
// password. It is stricter than IsName, which also takes MAX_TOKENS for one.
func NamesAKey(name string) bool {
	return regexp.MustCompile(`(?i)(key|token|secret|passw(or)?d|passphrase|pwd|auth|authorization|credentials?|cookie)$`).MatchString(name)
}

// KeysInURL returns those of InURL's texts that are keys or passwords by where they stand:
// the password, and values in the query with the name of a key.
func KeysInURL(address string) (all []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
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

// InURL returns what is secret in an address: the password, or a long name that
// stands there without one, also as it is sent (RFC 7617), and the values in the
// query, except that of a version. An address that is no URL is read as far as it
// goes.
func InURL(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return inBrokenURL(address)
	}
	all := inQuery(u.Query())
	if u.User == nil {
		return all
	}
	password, _ := u.User.Password()
	return append(all, inCredentials(u.User.Username(), password)...)
}

// shortestName is the least that counts as a key where a user's name stands.
const shortestName = 8

func inCredentials(user, password string) []string {
	secret := password
	if password == "" {
		secret = user
	}
	if password == "" && len(user) < shortestName {
		return nil
	}
	sent := base64.RawStdEncoding.EncodeToString([]byte(user + ":" + password))
	return []string{secret, sent}
}

func inQuery(query url.Values) []string {
	var all []string
	for name, values := range query {
		if !strings.Contains(strings.ToLower(name), "version") {
			all = append(all, values...)
		}
	}
	return all
}

// inBrokenURL takes all between the scheme, if there is one, and the last @ for a
// user and a password: it may be a character in them that breaks the address.
func inBrokenURL(address string) []string {
	_, rest, found := strings.Cut(address, "://")
	if !found {
		rest = address
	}
	var all []string
	if end := strings.LastIndex(rest, "@"); end >= 0 {
		user, password, _ := strings.Cut(rest[:end], ":")
		all = inCredentials(user, password)
	}
	_, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return all // of a query that cannot be read, nothing is sent either
	}
	return append(all, inQuery(values)...)
}

// InHeader returns what is secret of a header: its value, and what follows a scheme
// such as Bearer, or of Basic the password. A header is secret by its name, or
// because its value looks like a key.
func InHeader(name, value string) []string {
	if !IsName(name) && (saysWhatIsSpoken(name) || !looksLikeKey(value)) {
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

// saysWhatIsSpoken knows the headers whose values look like keys and are names of
// programs and dialects.
func saysWhatIsSpoken(name string) bool {
	return regexp.MustCompile(`(?i)version|beta|agent`).MatchString(name)
}

// looksLikeKey says whether a text is one long word with letters and digits, and no
// address. A person's words are none.
func looksLikeKey(text string) bool {
	return regexp.MustCompile(`^[!-~]{16,}$`).MatchString(text) && !strings.Contains(text, "://") &&
		regexp.MustCompile(`[A-Za-z]`).MatchString(text) && regexp.MustCompile(`[0-9]`).MatchString(text)
}
