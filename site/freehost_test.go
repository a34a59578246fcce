package site_test

import (
	"testing"

	"tollbook/site"
)

func TestIsFreeHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"vercel.app": true, "acme.vercel.app": true, "a.b.vercel.app": true, "ACME.Vercel.App": true, "acme.vercel.app.": true,
		"x.trycloudflare.com": true, "acme.github.io": true, "app.github.dev": true,
		"": false, ".": false, "app": false, "example.com": false, "notvercel.app": false, "vercel.app.example.com": false, "github.com": false,
		"github.dev": false, "127.0.0.1": false, "[::1]": false, "..vercel.app": true,
	} {
		if got := site.IsFreeHost(host); got != want {
			t.Errorf("IsFreeHost(%q) = %t", host, got)
		}
	}
}
