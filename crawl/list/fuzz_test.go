package list

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"testing"
	"time"
	"unicode/utf8"

	"tollbook/site/listing"
)

// FuzzRead reads arbitrary bytes with both readers of lists. Accepted entries must have a web URL, a unique slug
// and text that Postgres can store. Errors must name a line of the list.
func FuzzRead(f *testing.F) {
	entry := `{"service_name":"Acme","description":"d","url":"https://api.acme.example/v1","website_url":"https://` +
		`acme.example","category":"AI","endpoints":["/a","POST /b"]}`
	f.Add([]byte("["+entry+"]"), false)
	f.Add([]byte("["+entry+","+entry+"]"), false)
	f.Add([]byte(`[{"service_name":"\u0000","url":"http://\ufffd"}]`), false)
	f.Add([]byte("[[service]]\nservice_name = \"Acme\"\ndescription = \"d\"\n"+
		"url = \"https://api.acme.example\"\ncategory = \"AI\"\nendpoints = [\"/a\"]\n"), true)
	f.Add([]byte("[[service]]\nslug = 'a'\n[[service]]\nslug = 'a'\nurl = 1979-05-27\n[service.x]\n"), true)
	f.Add([]byte("service = [{url = \"https://a.example\"}]"), true)
	if data, err := os.ReadFile("../sample/services.toml"); err == nil {
		f.Add(data, true)
	}
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte, toml bool) {
		name := "list.json"
		if toml {
			name = "list.toml"
		}
		listings, err := Read(bytes.NewReader(data), Options{Name: name, Now: now})
		if err != nil {
			if fault := new(Fault); !errors.As(err, &fault) || fault.Line < 0 ||
				fault.Line > bytes.Count(data, []byte("\n"))+1 {
				t.Errorf("%v: the list has %d lines", err, bytes.Count(data, []byte("\n"))+1)
			}
			return
		}
		slugs, bases := map[string]bool{}, map[string]bool{}
		for _, l := range listings {
			if u, err := url.Parse(l.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" &&
				u.Scheme != "https" || u.User != nil {
				t.Errorf("listed at %q", l.BaseURL)
			}
			if l.Slug == "" || l.Slug != listing.Slug(l.Slug) || slugs[l.Slug] || bases[l.BaseURL] {
				t.Errorf("%q at %q is listed twice or has no slug", l.Slug, l.BaseURL)
			}
			slugs[l.Slug], bases[l.BaseURL] = true, true
			for _, text := range []string{l.Name, l.Description, l.BaseURL, l.Category, l.Source} {
				if !utf8.ValidString(text) || bytes.IndexByte([]byte(text), 0) >= 0 {
					t.Errorf("Postgres can't store %q", text)
				}
			}
			for _, e := range l.Endpoints {
				if len(e.Path) == 0 || e.Path[0] != '/' {
					t.Errorf("endpoint at %q", e.Path)
				}
			}
		}
	})
}
