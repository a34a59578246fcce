package x402

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tollbook/site/invisible"
)

// hostile returns responses of hostile services: large, deep or wide.
func hostile() map[string]Answer {
	row := `{"scheme":"exact","network":"base","amount":"1","asset":"x","payTo":"y","extra":{"a":{}}}`
	fill := func(open, piece, end string) []byte {
		n := (MaxBody - len(open) - len(end)) / len(piece)
		return []byte(open + strings.Repeat(piece, n) + end)
	}
	all := map[string]Answer{
		"4 MB":         {Body: []byte(`{"accepts":[` + strings.Repeat(row+",", 4<<20/len(row)) + `1]}`)},
		"many rows":    {Body: fill(`{"accepts":[`, row+",", "1]}")},
		"empty rows":   {Body: fill(`{"accepts":[`, "{},", "{}]}")},
		"many members": {Body: fill(`{"accepts":[],`, `"k":0,`, `"z":0}`)},
		"wide row":     {Body: fill(`{"x402Version":2,"accepts":[{`, `"k":{"k":0},`, `"z":0}]}`)},
		"deep":         {Body: []byte(strings.Repeat("[", MaxBody))},
		"long amount":  {Body: fill(`{"x402Version":2,"accepts":[{"amount":"`, "9", `"}]}`)},
		"long number":  {Body: fill(`{"x402Version":2,"accepts":[{"amount":`, "9", `}]}`)},
		"long address": {Body: fill(`{"x402Version":2,"accepts":[{"network":"solana","payTo":"`, "z", `"}]}`)},
		"long words":   {Body: fill(`{"x402Version":2,"accepts":[],"resource":{"description":"`, "&amp;Ã©", `"}}`)},
		"many schemas": {Body: fill(`{"x402Version":2,"accepts":[{"outputSchema":{"input":{"queryParams":{`,
			`"k":"string",`, `"z":"string"}}}}]}`)},
		"nested options": {Body: fill(`{"data":[`, row+",", `1],"error":[`+row+`]}`)},
		"page":           {Body: fill("<html>window.x402 = {", "paymentRequirements: [", "")},
		"long header":    {Header: header(headerName, strings.Repeat("A", 300<<10))},
		"many headers": {Header: http.Header{"Payment-Required": slices.Repeat([]string{strings.Repeat("e30", 4096)},
			64)}},
		"challenges": {Header: header("WWW-Authenticate", strings.Repeat(`Payment id="`, 10000))},
	}
	for name, a := range all {
		a.Status = 402
		all[name] = a
	}
	return all
}

// TestMemory checks that one capture allocates at most 8 MB in all, and so never uses more. It measures the whole
// process, so it must not run in parallel with other tests.
func TestMemory(t *testing.T) {
	Capture(Answer{}) // loads the tables, once for the process
	for name, a := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := Capture(a)
		_ = Assess([]Evidence{{Captured: c}})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d KiB", name, used>>10)
		}
		if len(c.Defects) > maxDefects+8 {
			t.Errorf("%s: %d defects", name, len(c.Defects))
		}
	}
}

// FuzzCapture captures any bytes as header and body, and checks the properties that callers rely on.
func FuzzCapture(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if _, envelope, ok := strings.Cut(string(text), "-- envelope.json --\n"); ok {
			envelope, _, _ = strings.Cut(envelope, "\n-- ")
			f.Add(stdBase64([]byte(envelope)), envelope, 402)
		}
	}
	f.Add(`Payment id="a", request="e30"`, `<script>window.x402 = {paymentRequirements: [{}]}</script>`, 402)
	f.Add(`{"accepts":{}}`, `{"error":"{\"accepts\":[[]]}"}`, 412)
	f.Fuzz(func(t *testing.T, value, body string, status int) {
		h := http.Header{"Payment-Required": {value}, "X-Payment-Required": {value}, "Www-Authenticate": {value},
			"Content-Type": {"application/problem+json"}}
		c := Capture(Answer{Status: status, Header: h, Body: []byte(body)})
		if c.Envelope != nil && status != 402 && status != 412 {
			t.Errorf("an envelope counts with status %d", status)
		}
		for _, e := range append(slices.Clone(c.Others), deref(c.Envelope)...) {
			if !json.Valid(e.Raw) || e.Version < 1 || len(e.Accepts) > maxRows {
				t.Errorf("version %d with %d rows from %q", e.Version, len(e.Accepts), e.Raw)
			}
			if d := e.Discovery; d != nil &&
				(d.Body != nil && !json.Valid(d.Body) || d.QueryParams != nil && !json.Valid(d.QueryParams)) {
				t.Errorf("samples %q and %q are no JSON", d.Body, d.QueryParams)
			}
			for _, r := range e.Accepts {
				shortest := integerAmount
				if r.issuedCurrency() {
					shortest = decimalAmount
				}
				if r.Amount != "" && shortest(r.Amount) != r.Amount || !json.Valid(r.Raw) ||
					!json.Valid(r.StableExtra()) {
					t.Errorf("row %+v", r)
				}
				if price, ok := r.PriceUSD(); ok && strings.Trim(price, "0123456789.") != "" {
					t.Errorf("price %q", price)
				}
			}
			if strings.ContainsFunc(e.Error+e.Resource.Description+e.Resource.URL, invisible.Is) {
				t.Errorf("words %q have invisible characters", e.Error+e.Resource.Description+e.Resource.URL)
			}
			if print := e.Fingerprint(); len(print) != 64 || print != reversed(e).Fingerprint() {
				t.Error("a fingerprint depends on the order of rows")
			}
		}
		verdict := Assess([]Evidence{{Captured: c}})
		if len(verdict.Checks) != 14 || verdict.Grade == "" {
			t.Errorf("verdict %+v", verdict)
		}
	})
}

func reversed(e Envelope) Envelope {
	e.Accepts = slices.Clone(e.Accepts)
	slices.Reverse(e.Accepts)
	return e
}

func deref(e *Envelope) []Envelope {
	if e == nil {
		return nil
	}
	return []Envelope{*e}
}
