package site

import "strings"

// MaxSlug is the maximum length of a slug.
const MaxSlug = 80

// ValidSlug reports whether s can be the slug of a service: 1 to 80 characters a-z, 0-9 and hyphens, with no hyphen at
// the start or end.
func ValidSlug(s string) bool {
	if s == "" || len(s) > MaxSlug || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
