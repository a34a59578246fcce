package settings

import (
	"testing"
)

func TestUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://acme.example/@name?mail=a@b": "https://acme.example/@name?mail=a@b",
		"https://u:p@acme.example/@name":      "https://***@acme.example/@name",
		"https://u:p@q@acme.example":          "https://***@acme.example",
		"s3://u:p@bucket/x":                   "s3://***@bucket/x",
		"https://u:p q@acme.example/x":        "https://***@acme.example/x",
		"https://u:p/q@acme.example:x":        "https://***@acme.example:x",
		"https://u:%zz@acme.example":          "https://***@acme.example",
		"a@b":                                 "a@b",
		"":                                    "",
	} {
		if got := RedactUser(text); got != want {
			t.Errorf("User(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "k/y+secret")
	t.Setenv("OPENAI_API_KEY", "short")
	t.Setenv("DATABASE_URL", "postgres://me:pa%2Fss-word@db.example/x")
	for text, want := range map[string]string{
		`Get "https://u:p@acme.example/x?a=b": write to a@acme.example`: `Get "https://***@acme.example/x?a=b": ` +
			`write to a@acme.example`,
		"see https://acme.example/@name":                     "see https://acme.example/@name",
		"k/y+secret k%2Fy%2Bsecret k%2Fy+secret a short key": "*** *** *** a short key",
		"ay95K3NlY3JldA==":                                   "***",
		"FATAL: password pa/ss-word is wrong":                "FATAL: password *** is wrong",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("Text(%q) is %q, want %q", text, got, want)
		}
	}
}
