package listing_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/listing"
)

// TestNormalHost checks that each way to write a host gives one form, and that what is no host is an error.
func TestNormalHost(t *testing.T) {
	t.Parallel()
	for want, forms := range map[string][]string{
		"xn--bcher-kva.test": {"bücher.test", "BÜCHER.test", "xn--bcher-kva.test", "XN--Bcher-KVA.test.",
			"b%C3%BCcher.test", "b%c3%bccher.test", "bu\u0308cher.test", "bücher。test", "bücher．test"},
		"xn--strae-oqa.test":    {"straße.test"},
		"xn--r8jz45g.test":      {"例え.test", "%E4%BE%8B%E3%81%88.test"},
		"api.acme.test":         {"api.acme.test", "API.Acme.Test", "api.acme.test.", "%61pi.acme.test", "ａpi.acme.test"},
		"a_b.acme.test":         {"a_b.acme.test"},
		"r3---sn-abc.acme.test": {"r3---sn-abc.acme.test"},
		"localhost":             {"localhost", "LOCALHOST."},
		"192.0.2.7":             {"192.0.2.7", "192.0.2.7.", "192.0.519", "192.519", "3221225991", "0xc0000207", "0XC0.0x0.2.7", "１９２.0.2.7", "%31%39%32.0.2.7"},
		"127.0.0.1":             {"127.1", "2130706433", "0x7f.1"},
		"2001:db8::1":           {"2001:db8::1", "2001:DB8:0:0:0:0:0:1", "[2001:0db8::0001]", "2001:db8::0.0.0.1"},
	} {
		for _, form := range forms {
			if got, err := listing.NormalHost(form); got != want || err != nil {
				t.Errorf("NormalHost(%q) = %q, %v, want %q", form, got, err, want)
			}
		}
	}
	for _, host := range []string{
		"", ".", "..", "a..b", ".a", "-a.test", "a-.test", "a b.test", "a/b", "a%2fb.test", "a%00b.test", "a%zz.test",
		"xn--a.test", "a\u202eb.test", "a@b.test", "a:b", "[::1", "::1]x", "fe80::1%eth0", "1.2.3.4.5", "256.1.1.1",
		"1.2.3.256", "4294967296", "0x", "0x100000000", "010.0.0.1", "1..2", "a.1", strings.Repeat("a", 64) + ".test",
		strings.Repeat("a.", 127) + "test", "\xff.test", "*.acme.test",
	} {
		if got, err := listing.NormalHost(host); err == nil {
			t.Errorf("NormalHost(%q) = %q, want an error", host, got)
		}
	}
}

// TestBaseURL checks the form of a base URL, and what is none.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://bücher.test":                         "https://xn--bcher-kva.test",
		"https://b%C3%BCcher.test/":                   "https://xn--bcher-kva.test",
		"HTTPS://Acme.Test:0443/V1/":                  "https://acme.test/V1",
		"https://acme.test.:8443/v1":                  "https://acme.test:8443/v1",
		"http://acme.test:443":                        "http://acme.test:443",
		"http://acme.test:":                           "http://acme.test",
		"http://[2001:DB8:0::1]:80/a":                 "http://[2001:db8::1]/a",
		"https://acme.test/gebühr":                    "https://acme.test/geb%C3%BChr",
		"":                                            "is missing",
		"acme.test":                                   "must start with https:// or http:// and a host",
		"https://":                                    "must start with https:// or http:// and a host",
		"https://:443":                                "must start with https:// or http:// and a host",
		"https://u:p@acme.test":                       "must not contain a user name or password",
		"https://acme.test/?a=1":                      "must not contain a query or fragment",
		"https://acme.test/#a":                        "must not contain a query or fragment",
		"https://acme.test:65536":                     "its port is no number to 65535",
		"https://a b.test":                            "its host is no name and no address",
		"https://acme.test/%zz":                       "must be a URL of at most 2048 bytes",
		"https://acme.test/\x00":                      "must be a URL of at most 2048 bytes",
		"https://a.test/" + strings.Repeat("a", 2048): "must be a URL of at most 2048 bytes",
	} {
		got, err := listing.BaseURL(url)
		if strings.HasPrefix(want, "http") {
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("BaseURL(%q): %v (-want +got):\n%s", url, err, diff)
			}
			if again, err := listing.BaseURL(got); again != got || err != nil {
				t.Errorf("BaseURL(%q) = %q, %v, want no change", got, again, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("BaseURL(%.60q) = %q, %v, want %s", url, got, err, want)
		}
	}
}

// FuzzNormalHost checks that the form of a form is itself, and that it has the letters of a host alone.
func FuzzNormalHost(f *testing.F) {
	for _, s := range []string{"bücher.test", "b%C3%BCcher.test.", "0x7f.1", "[::1]", "xn--bcher-kva.test", "例え.test"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := listing.NormalHost(s)
		if err != nil {
			return
		}
		if twice, err := listing.NormalHost(once); err != nil || twice != once ||
			strings.Trim(once, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" {
			t.Fatalf("%q becomes %q, and that becomes %q, %v", s, once, twice, err)
		}
	})
}
