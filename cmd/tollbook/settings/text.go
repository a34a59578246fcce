package settings

import (
	"encoding/base64"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// hidden replaces a secret.
const hidden = "***"

// RedactUser returns a URL without its user and password. It works for malformed URLs, too: there everything before
// the last @ may be a password.
func RedactUser(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	authority := rest
	if u, err := url.Parse(text); err == nil {
		if u.User == nil {
			return text
		}
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			authority = rest[:i]
		}
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		return scheme + "://" + hidden + rest[i:]
	}
	return text
}

// userInText matches the user and password of a URL within a text.
var userInText = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`)

// RedactText returns a text for people, such as an error or a line of a log, without the users and passwords of URLs
// in it. It also hides the secrets of this process's environment, which a server may have repeated.
func RedactText(s string) string {
	s = environment().Replace(s)
	if strings.Contains(s, "://") {
		s = userInText.ReplaceAllString(s, "${1}"+hidden+"@")
	}
	return s
}

// secretVariables are the variables whose whole value is a secret.
var secretVariables = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OPENAI_API_KEY", "PGPASSWORD",
	"TOLLBOOK_SIGNING_KEY",
}

// shortest is the length below which a value is not replaced, because it would be a part of ordinary words.
const shortest = 6

// argumentPairs returns the users and passwords of URLs among the arguments, malformed ones too, each with its
// replacement. An error may quote an argument, or be about a file of that name.
func argumentPairs(args []string) (pairs []string) {
	for _, arg := range args {
		_, rest, ok := strings.Cut(arg, "://")
		if !ok || RedactUser(arg) == arg {
			continue
		}
		if user := rest[:max(strings.LastIndexByte(rest, '@'), 0)]; len(user) >= shortest {
			pairs = append(pairs, user, hidden)
		}
	}
	return pairs
}

// environment returns a replacer of the secrets of this process's arguments and environment, in each form that a URL, a
// header or an error may have.
var environment = sync.OnceValue(func() *strings.Replacer {
	var secrets []string
	for _, name := range secretVariables {
		secrets = append(secrets, os.Getenv(name))
	}
	if config, err := pgx.ParseConfig(os.Getenv("DATABASE_URL")); err == nil {
		secrets = append(secrets, config.Password)
	}
	pairs := argumentPairs(os.Args)
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < shortest {
			continue
		}
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s))} {
			if !slices.Contains(pairs, form) {
				pairs = append(pairs, form, hidden)
			}
		}
	}
	return strings.NewReplacer(pairs...)
})
