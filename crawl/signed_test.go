package crawl

import (
	"crypto/ed25519"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/webbotauth"
)

// newSigner returns a signer with a key of its own.
func newSigner(t *testing.T) *webbotauth.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := webbotauth.NewSigner(key, "https://tollbook.example")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTermsOfSignedRequests visits a service that shows other terms to signed requests. Terms of one kind of request
// are never compared with those of the other.
func TestTermsOfSignedRequests(t *testing.T) {
	t.Parallel()
	const offered, other = `"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`, `"0x1111111111111111111111111111111111111111"`
	type visit struct {
		isSigned         bool
		unsigned, signed string // the price that each kind of request is asked for
	}
	for _, test := range []struct {
		name   string
		visits []visit
		want   []string // "<type> ×<n>" of all records
		moved  int      // changes of amounts in the series
	}{
		{"another price for signed requests", []visit{{false, "10000", "5000"}, {true, "10000", "5000"}}, nil, 0},
		{"and back", []visit{{false, "10000", "5000"}, {true, "10000", "5000"}, {false, "10000", "5000"}}, nil, 0},
		{"a change among signed requests", []visit{{false, "10000", "5000"}, {true, "10000", "5000"},
			{true, "10000", "4000"}}, []string{"price_changed"}, 1},
		{"the first change after the same terms", []visit{{false, "10000", "10000"}, {true, "10000", "10000"},
			{true, "9000", "9000"}}, []string{"price_changed"}, 1},
		{"changes before and after the key came", []visit{{false, "10000", "1"}, {false, "9000", "1"},
			{true, "8000", "8000"}, {true, "8000", "8000"}}, []string{"price_changed"}, 1},
		{"no key at all", []visit{{false, "10000", "5000"}, {false, "9000", "5000"}}, []string{"price_changed"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var now visit
			var looks int // requests of a visit without its signature
			base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				isSigned := webbotauth.IsSigned(r.Header)
				if now.isSigned && !isSigned && r.URL.Path == "/x" {
					looks++ // how such a request is answered is compared once a day
				} else if isSigned != now.isSigned {
					looks = 2
				}
				if r.Header.Get("Signature") != "" != isSigned || looks > 1 {
					t.Errorf("%s %s has headers %v, want signed: %t", r.Method, r.URL, r.Header, now.isSigned)
				}
				for name := range r.Header {
					if strings.HasPrefix(strings.ToLower(name), "crawler-") {
						t.Errorf("%s %s has the header %s, which promises to pay", r.Method, r.URL, name)
					}
				}
				if isSigned {
					pay(w, v2("10000", now.signed, offered, other))
				} else {
					pay(w, v2("10000", now.unsigned))
				}
			}))
			m := open(t)
			m.list(t, oneEndpoint("acme", base, "/x"))
			at := &clock{}
			crawlers := map[bool]*Crawler{false: crawler(t, m, Options{Now: at.Now}, o)}
			o.Signer = newSigner(t)
			crawlers[true] = crawler(t, m, Options{Now: at.Now}, o)
			for n, v := range test.visits {
				mu.Lock()
				now, looks = v, 0
				mu.Unlock()
				at.set(dawn.Add(time.Duration(n) * 2 * time.Hour))
				round(t, crawlers[v.isSigned])
				if _, err := crawlers[v.isSigned].Gather(t.Context()); err != nil {
					t.Fatal(err)
				}
				f := m.facts(t, at.Now())["acme"]
				e := f.Endpoints[0]
				last := e.Prices[len(e.Prices)-1]
				want := v.unsigned
				if v.isSigned {
					want = v.signed
				}
				if e.Signed != v.isSigned || last.Signed != v.isSigned || last.Amount != want || last.Until != nil {
					t.Errorf("visit %d: signed %t, price %s signed %t until %v; want %s", n, e.Signed, last.Amount,
						last.Signed, last.Until, want)
				}
				if h := e.Envelope.Exchange.RequestHeader; h.Get("Signature") != "" || h.Get("Signature-Input") != "" {
					t.Errorf("visit %d: the record contains a signature: %v", n, h)
				}
			}
			f := m.facts(t, at.Now())["acme"]
			var got []string
			for _, c := range slices.Backward(f.Changes) {
				got = append(got, c.Type)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("change records (-want +got):\n%s", diff)
			}
			moved := 0
			for _, d := range f.PriceDays {
				moved += d.Moved
			}
			if moved != test.moved {
				t.Errorf("the series has %d changes of amounts, want %d", moved, test.moved)
			}
		})
	}
}
