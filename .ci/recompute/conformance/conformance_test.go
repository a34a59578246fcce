package conformance

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"tollbook/.ci/recompute/snapshot"
	"tollbook/site/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestExamples grades the two services that the methodology grades by hand.
func TestExamples(t *testing.T) {
	loadPublished(t)
	page, err := os.ReadFile("../../../templates/pages/methodology.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		title, grade string
		failed       []string
	}{
		{"### A version 2 service", "C", []string{"eip712_domain_extra"}},
		{"### A version 1 service", "A", []string{"x402_version_current"}},
	} {
		terms := example(t, string(page), test.title)
		headers, body := map[string]any{}, terms
		if test.grade == "C" {
			headers["Payment-Required"] = []any{base64.StdEncoding.EncodeToString([]byte(terms))}
			body = "{}"
		}
		p := NewProbed(snapshot.Node{Value: map[string]any{
			"method": "GET", "path": "/quote", "url": "https://api.acme.test/quote", "is_active": true,
			"answer": map[string]any{
				"status": json.Number("402"), "headers": headers, "tls_verified": true,
				"body": map[string]any{"encoding": "utf-8", "text": body},
			},
		}})
		failed := Judge(Graded([]*Probed{p}))
		grade, _ := GradeOf(failed)
		if !slices.Equal(failed, test.failed) || grade != test.grade {
			t.Errorf("%s: %s with failures %q, want %s with %q", test.title, grade, failed, test.grade, test.failed)
		}
	}
}

// example returns the JSON below a title of the page.
func example(t *testing.T, page, title string) string {
	t.Helper()
	_, section, _ := strings.Cut(page, "\n"+title+"\n")
	var lines []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "    ") {
			lines = append(lines, line)
		} else if len(lines) > 0 {
			break
		}
	}
	text := strings.TrimSpace(strings.Join(lines, ""))
	if !json.Valid([]byte(text)) {
		t.Fatalf("no JSON below %q:\n%s", title, text)
	}
	return text
}

// TestDecodeValue checks the names of the ways in which services encode a header.
func TestDecodeValue(t *testing.T) {
	text := `{"x402Version":2,"accepts":[]}`
	for value, want := range map[string]string{
		base64.StdEncoding.EncodeToString([]byte(text)):               "std",
		base64.RawStdEncoding.EncodeToString([]byte(`{"a":12}`)):      "std-unpadded",
		base64.URLEncoding.EncodeToString([]byte(`{"a":"????>>>>"}`)): "url",
		text:       "raw",
		" " + text: "trimmed+raw",
		`"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"`:                                "quoted+std",
		base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(text)))): "std+std",
		"eyJhIjo": "", // not the whole of an object
		"hello":   "",
	} {
		_, got, ok := decodeValue(value)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("decodeValue(%q) is %q, want %q", value, got, want)
		}
	}
}

// TestBrokenRules checks which members of terms break the official schemas.
func TestBrokenRules(t *testing.T) {
	loadPublished(t)
	for text, want := range map[string]map[int]int{
		`{"x402Version":2,"resource":{"url":"https://a.test"},"accepts":[{"scheme":"exact","network":"eip155:1",` +
			`"amount":"1","asset":"0x","payTo":"0x","maxTimeoutSeconds":60}]}`: {},
		`{"x402Version":"2","accepts":[{"scheme":"exact","network":"base","amount":1,"asset":"0x","payTo":"0x",` +
			`"extra":"{}"},null]}`: {-1: 2, 0: 4, 1: 1},
		`{"x402Version":1,"accepts":[]}`: {-1: 1},
	} {
		e, ok := readEnvelope(text, "body", "json")
		if got := brokenRules(&e); !ok || !maps.Equal(got, want) {
			t.Errorf("%s breaks %v, want %v", text, got, want)
		}
	}
}
