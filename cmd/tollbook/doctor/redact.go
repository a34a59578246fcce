package doctor

import (
	"net/url"

	"github.com/jackc/pgx/v5"
)

// SchemeAndHost returns the part of an address that contains no secret: a path may be a key.
func SchemeAndHost(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "an address that can't be read"
	}
	return u.Scheme + "://" + u.Host
}

// DatabaseHost returns the server of a connection string: postgres://db.example, postgres:///run/postgresql.
func DatabaseHost(dsn string) string {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "a connection string that can't be read"
	}
	return "postgres://" + config.Host
}
