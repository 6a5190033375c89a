package sessions

import (
	"crypto/rand"
	"strings"
	"time"
)

// Default is the id of the session of commands that name no session (seed 000).
const Default = "default"

// NewID returns an id for a new session: the time, for people, and enough random digits to
// differ from all others. It is safe for concurrent use.
func NewID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
}
