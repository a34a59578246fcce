// This part of the package returns the part of a URL or connection string that contains no secret. It must never know
// what the text is used for.

package settings

import (
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

const unreadableURL = "a URL that can't be read"

// SchemeAndHost returns the scheme and host of a URL whose path may be a secret, too.
func SchemeAndHost(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return unreadableURL
	}
	return u.Scheme + "://" + u.Host
}

// RedactURL returns a URL without user, query and fragment. Text that is no URL is returned as it is.
func RedactURL(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return unreadableURL
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// DatabaseHost returns the server of a connection string: postgres://db.example, postgres:///run/postgresql.
func DatabaseHost(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "a connection string that can't be read"
	}
	return "postgres://" + config.Host
}
