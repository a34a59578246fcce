package crawl

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// hostileRow returns a requirement of x402 version 1, with one member replaced unless member is "".
func hostileRow(amount, member, value string) string {
	members := map[string]string{
		"scheme": `"exact"`, "network": `"base"`, "maxAmountRequired": `"` + amount + `"`,
		"asset": `"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`,
		"payTo": `"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`, "maxTimeoutSeconds": "60", "resource": `"http://x"`,
		"description": `"d"`, "extra": `{"name":"USD Coin","version":"2"}`,
	}
	if member != "" {
		members[member] = value
	}
	var out []string
	for name, value := range members {
		out = append(out, fmt.Sprintf("%q:%s", name, value))
	}
	slices.Sort(out)
	return "{" + strings.Join(out, ",") + "}"
}

func hostileBody(rows ...string) string {
	return `{"x402Version":1,"accepts":[` + strings.Join(rows, ",") + "]}"
}

// raw writes an answer's bytes to the connection, past net/http.
func raw(w http.ResponseWriter, answer string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	io.WriteString(conn, answer)
}

// hostile maps paths to answers that try to break what stores them. Each asks for amount.
var hostile = map[string]func(w http.ResponseWriter, amount string){
	"nul-in-texts": func(w http.ResponseWriter, amount string) {
		var rows []string
		for _, m := range []string{"scheme", "network", "asset", "payTo", "resource", "description"} {
			rows = append(rows, hostileRow(amount, m, `"a\u0000b"`))
		}
		pay(w, hostileBody(append(rows,
			hostileRow(amount, "extra", `{"a\u0000":"\u0000","b":["\u0000"],"c":"\ud800"}`))...))
	},
	"invalid-utf8": func(w http.ResponseWriter, amount string) {
		var rows []string
		for _, m := range []string{"scheme", "network", "asset", "payTo", "resource", "description"} {
			rows = append(rows, hostileRow(amount, m, "\"a\xff\xfe\xc3(\""))
		}
		pay(w, hostileBody(append(rows, hostileRow(amount, "extra", "{\"\xff\":\"\xff\"}"))...))
	},
	"nul-in-headers": func(w http.ResponseWriter, amount string) {
		body := hostileBody(hostileRow(amount, "", ""))
		raw(w, fmt.Sprintf("HTTP/1.1 402 Pay\x00\r\nContent-Type: application/json\r\nX-Nul: "+
			"a\x00b\r\nX-Latin: \xff\xfe\r\nX-\xff: 1\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	},
	"invalid-utf8-in-headers": func(w http.ResponseWriter, amount string) {
		body := hostileBody(hostileRow(amount, "", ""))
		raw(w, fmt.Sprintf("HTTP/1.1 402 \xff\xff\r\nContent-Type: application/json; "+
			"x=\xff\r\nX-Latin: \xff\xfe\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	},
	"nul-in-location": func(w http.ResponseWriter, amount string) {
		raw(w, "HTTP/1.1 302 Found\r\nLocation: /\x00\xff\r\nContent-Length: 0\r\n\r\n")
	},
	"escaped-nul-in-location": func(w http.ResponseWriter, amount string) {
		raw(w, "HTTP/1.1 302 Found\r\nLocation: /%00%ff\r\nContent-Length: 0\r\n\r\n")
	},
	"no-http": func(w http.ResponseWriter, amount string) { raw(w, "\x00\xff\x00\xff SMTP ready\r\n\r\n") },
	"nul-status": func(w http.ResponseWriter, amount string) {
		raw(w, "HTTP/1.1 4\x002 Pay\r\nContent-Length: 0\r\n\r\n")
	},
	"strange-status": func(w http.ResponseWriter, amount string) {
		raw(w, "HTTP/1.1 999 \x00\r\nContent-Length: 0\r\n\r\n")
	},
	"megabyte-description": func(w http.ResponseWriter, amount string) {
		pay(w, hostileBody(hostileRow(amount, "description", `"`+strings.Repeat("€", 1<<20)+`"`)))
	},
	"long-texts": func(w http.ResponseWriter, amount string) {
		long := `"` + strings.Repeat("€", 9000) + `"`
		var rows []string
		for _, m := range []string{"scheme", "network", "asset", "payTo", "description"} {
			rows = append(rows, hostileRow(amount, m, long))
		}
		pay(w, hostileBody(append(rows, hostileRow(amount, "extra", `{"x":`+long+`}`))...))
	},
	"thousand-rows": func(w http.ResponseWriter, amount string) {
		var rows []string
		for i := range 1000 {
			rows = append(rows, hostileRow(fmt.Sprint(amount, i), "extra", "{}"))
		}
		pay(w, hostileBody(rows...))
	},
	"same-row-again": func(w http.ResponseWriter, amount string) {
		pay(w, hostileBody(slices.Repeat([]string{hostileRow(amount, "extra", "{}")}, 60)...))
	},
	"odd-amounts": func(w http.ResponseWriter, amount string) {
		rows := []string{hostileRow(amount, "", "")}
		for _, n := range []string{`"` + strings.Repeat("9", 1000) + `"`, strings.Repeat("9", 1000),
			`"` + strings.Repeat("9", 78) + `"`, "1e1000000000", "1e40", `"-1"`, "-0", `"NaN"`, `"1.5"`,
			`"0x10"`, `"١٢"`, `"1\u0000"`, `""`, "null", "[]", "{}", "true", `" 7 "`, `"000007"`} {
			rows = append(rows, hostileRow(amount, "maxAmountRequired", n))
		}
		pay(w, hostileBody(rows...))
	},
	"odd-timeouts": func(w http.ResponseWriter, amount string) {
		var rows []string
		for _, n := range []string{"1e18", "2147483648", "2147483647", "-1", `"60"`, "1e400", "0.5", "[]", `"\u0000"`} {
			rows = append(rows, hostileRow(amount, "maxTimeoutSeconds", n))
		}
		pay(w, hostileBody(rows...))
	},
	"odd-versions": func(w http.ResponseWriter, amount string) {
		pay(w, `{"x402Version":99999999999999999999,"accepts":[`+hostileRow(amount, "", "")+"]}")
	},
	"deep-extra": func(w http.ResponseWriter, amount string) {
		pay(w, hostileBody(hostileRow(amount, "extra",
			`{"x":`+strings.Repeat(`[`, 5000)+strings.Repeat(`]`, 5000)+`}`)))
	},
	"deeper-extra": func(w http.ResponseWriter, amount string) {
		pay(w, hostileBody(hostileRow(amount, "extra", strings.Repeat(`{"x":`, 20000)+"1"+strings.Repeat(`}`, 20000))))
	},
	"wide-extra": func(w http.ResponseWriter, amount string) {
		pay(w, hostileBody(hostileRow(amount, "extra", `{"x":"`+strings.Repeat("x", 100_000)+`"}`)))
	},
	"many-headers": func(w http.ResponseWriter, amount string) {
		for i := range 2000 {
			w.Header().Add(fmt.Sprintf("X-%d", i), strings.Repeat("x", 50))
		}
		pay(w, hostileBody(hostileRow(amount, "", "")))
	},
	"broken-header": func(w http.ResponseWriter, amount string) {
		w.Header().Set("Payment-Required", "AAAA////"+strings.Repeat("=", 100))
		w.Header().Set("WWW-Authenticate", `Payment id="`+strings.Repeat("x", 5000))
		pay(w, hostileBody(hostileRow(amount, "", "")))
	},
}

// TestHostileServicesSpoilNothing visits all hostile services twice, so that their terms change too, and stores every
// visit in one batch with that of an ordinary service.
func TestHostileServicesSpoilNothing(t *testing.T) {
	t.Parallel()
	var number atomic.Int64
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slug, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		amount := fmt.Sprint(10000 + number.Load())
		if answer, ok := hostile[slug]; ok {
			answer(w, amount)
			return
		}
		if slug != "neighbour" {
			http.NotFound(w, r)
			return
		}
		pay(w, hostileBody(hostileRow(amount, "", "")))
	}))
	m := open(t)
	slugs := []string{"neighbour"}
	for slug := range hostile {
		slugs = append(slugs, slug)
	}
	slices.Sort(slugs)
	for _, slug := range slugs {
		m.list(t, oneEndpoint(slug, base+"/"+slug, "/x"))
	}
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now}, o)
	for n := range 2 {
		now.set(dawn.Add(time.Duration(n) * time.Hour))
		number.Store(int64(n))
		due, err := m.TakeServices(t.Context(), "", now.Now(), time.Minute, 100)
		if err != nil {
			t.Fatal(err)
		}
		var batch []checks.Visit
		for _, s := range due {
			v, ok := c.visit(t.Context(), s)
			if !ok {
				t.Fatalf("visit %d of %s stored nothing", n+1, s.Slug)
			}
			batch = append(batch, v)
		}
		if err := m.RecordVisits(t.Context(), batch); err != nil {
			for _, v := range batch { // find out which visit fails
				if err := m.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
					t.Errorf("%s: %v", m.strings(t, `SELECT slug FROM services WHERE id = $1`, v.Check.ServiceID), err)
				}
			}
			t.Fatalf("store a batch of hostile visits: %v", err)
		}
	}
	stored := m.strings(t, `SELECT slug FROM services s JOIN checks c ON c.service_id = s.id GROUP BY slug HAVING `+
		`count(*) = 2 ORDER BY slug COLLATE "C"`)
	if diff := cmp.Diff(slugs, stored); diff != "" {
		t.Errorf("services with both checks stored (-want +got):\n%s", diff)
	}
	facts := m.facts(t, now.Now())
	if s := facts["neighbour"]; *s.LastStatus != "online" || len(s.Changes) != 1 || len(s.Endpoints[0].Prices) != 2 {
		t.Errorf("the neighbour is %s with %d changes and %d prices; want online, a raise, and two", *s.LastStatus,
			len(s.Changes), len(s.Endpoints[0].Prices))
	}
	for slug, s := range facts {
		for _, e := range s.Endpoints {
			if len(e.Prices) > 2*64 {
				t.Errorf("%s: %d prices stored", slug, len(e.Prices))
			}
		}
	}
	for _, extra := range m.strings(t, `SELECT extra FROM prices WHERE extra IS NOT NULL`) {
		if !json.Valid([]byte(extra)) || len(extra) > maxExtra {
			t.Errorf("stored extra is too long or not JSON: %.80s", extra)
		}
	}
	for _, text := range []string{"nul-in-texts", "invalid-utf8", "thousand-rows", "odd-amounts", "odd-timeouts",
		"wide-extra", "invalid-utf8-in-headers"} {
		if facts[text].LastStatus == nil || facts[text].Endpoints[0].Envelope == nil {
			t.Errorf("%s: no envelope stored: the test proves nothing", text)
		}
	}
}

// TestHeadersAreStoredAsText checks that headers of hostile services are stored as text that JSON can represent.
func TestHeadersAreStoredAsText(t *testing.T) {
	t.Parallel()
	r := probe.Result{}
	r.Answer.Header = http.Header{"X-A": {"a\x00b", "\xff"}, "X-B\x00": {"1"}, "Set-Cookie": {"secret"},
		"Date": {"now"}}
	got := newEnvelope(answer{endpoint: &postgres.Endpoint{}, result: r}).Header
	want := http.Header{"X-A": {"a\ufffdb", "\ufffd"}, "X-B\ufffd": {"1"}, "Date": {"now"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers stored (-want +got):\n%s", diff)
	}
}
