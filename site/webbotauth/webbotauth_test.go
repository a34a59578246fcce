package webbotauth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"
)

// testKey is the key test-key-ed25519 of RFC 9421, appendix B.1.4.
func testKey(t testing.TB) ed25519.PrivateKey {
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

func newTestSigner(t testing.TB) *Signer {
	t.Helper()
	s, err := NewSigner(testKey(t), "https://signature-agent.test/")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestThumbprint computes the thumbprints of RFC 8037, appendix A.3, and of the draft's key.
func TestThumbprint(t *testing.T) {
	for x, want := range map[string]string{
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
		"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs": "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
	} {
		key, err := base64.RawURLEncoding.DecodeString(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := Thumbprint(key); got != want {
			t.Errorf("thumbprint of %s is %s, want %s", x, got, want)
		}
	}
}

// TestVectors makes the signatures of the specifications. Ed25519 is deterministic, so that they are equal.
func TestVectors(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	authority := component{name: "@authority", value: "example.com"}
	for _, test := range []struct {
		name, label      string
		covered          []component
		p                parameters
		input, signature string
	}{
		{"RFC 9421, B.2.6", "sig-b26", []component{
			{name: "date", value: "Tue, 20 Apr 2021 02:07:55 GMT"}, {name: "@method", value: "POST"},
			{name: "@path", value: "/foo"}, authority, {name: "content-type", value: "application/json"},
			{name: "content-length", value: "18"},
		}, parameters{created: at(1618884473), keyID: "test-key-ed25519"},
			`sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;` +
				`keyid="test-key-ed25519"`,
			"wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="},
		{"the draft, without an agent", "sig1", []component{authority},
			parameters{created: at(1735689600), expires: at(4889289600), algorithm: "ed25519", tag: "web-bot-auth",
				keyID: "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
				nonce: "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A=="},
			`sig1=("@authority");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";` +
				`alg="ed25519";expires=4889289600;nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6Zxv` +
				`QaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==";tag="web-bot-auth"`,
			"QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg=="},
		{"the draft, with an agent as a string", "sig2", []component{authority,
			{name: "signature-agent", value: `"https://signature-agent.test"`}},
			parameters{created: at(1735689600), expires: at(1735693200), algorithm: "ed25519", tag: "web-bot-auth",
				keyID: "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
				nonce: "e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="},
			`sig2=("@authority" "signature-agent");created=1735689600;` +
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;` +
				`nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";` +
				`tag="web-bot-auth"`,
			"jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA=="},
		{"the draft, with an agent in a dictionary", "sig2", []component{authority,
			{name: "signature-agent", key: "agent2", value: `"https://signature-agent.test"`}},
			parameters{created: at(1735689600), expires: at(4889289600), algorithm: "ed25519", tag: "web-bot-auth",
				keyID: "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
				nonce: "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="},
			`sig2=("@authority" "signature-agent";key="agent2");created=1735689600;` +
				`keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;` +
				`nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";` +
				`tag="web-bot-auth"`,
			"RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg=="},
	} {
		t.Run(test.name, func(t *testing.T) {
			input, signature, err := newTestSigner(t).sign(test.label, test.covered, test.p.values())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.input, input); diff != "" {
				t.Errorf("Signature-Input (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.label+"=:"+test.signature+":", signature); diff != "" {
				t.Errorf("Signature (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDirectory compares the directory with the draft's, byte for byte, and verifies the proof of possession.
func TestDirectory(t *testing.T) {
	s := newTestSigner(t)
	want := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",` +
		`"x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`
	if diff := cmp.Diff(want, string(s.Directory())); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	h := http.Header{}
	now := time.Unix(1735689600, 0)
	if err := s.SignDirectory(h, now); err != nil {
		t.Fatal(err)
	}
	if got, want := h.Get("Content-Digest"), "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"; got != want {
		t.Errorf("Content-Digest is %s, want %s, as in the draft", got, want)
	}
	input := verifyWith(t, s, h, map[string]string{`"@authority";req`: "signature-agent.test",
		`"content-digest"`: h.Get("Content-Digest")})
	if tag, _ := input.Params.Get("tag"); tag != "http-message-signatures-directory" {
		t.Errorf("the tag is %v", tag)
	}
}

// verifyWith verifies the only signature in headers, whose components must be those of values, and returns its input.
func verifyWith(t *testing.T, s *Signer, h http.Header, values map[string]string) httpsfv.InnerList {
	t.Helper()
	inputs, err := httpsfv.UnmarshalDictionary(h.Values("Signature-Input"))
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := httpsfv.UnmarshalDictionary(h.Values("Signature"))
	if err != nil {
		t.Fatal(err)
	}
	label := inputs.Names()[0]
	member, _ := inputs.Get(label)
	input := member.(httpsfv.InnerList)
	var base strings.Builder
	for _, item := range input.Items {
		id, err := httpsfv.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		value, ok := values[id]
		if !ok {
			t.Fatalf("component %s is covered, want only %v", id, values)
		}
		delete(values, id)
		fmt.Fprintf(&base, "%s: %s\n", id, value)
	}
	if len(values) > 0 {
		t.Errorf("components %v are not covered", values)
	}
	text, err := httpsfv.Marshal(httpsfv.List{input})
	if err != nil {
		t.Fatal(err)
	}
	signature, _ := signatures.Get(label)
	if !ed25519.Verify(s.key.Public().(ed25519.PublicKey), []byte(base.String()+`"@signature-params": `+text),
		signature.(httpsfv.Item).Value.([]byte)) {
		t.Errorf("the signature is not valid over\n%s", base.String())
	}
	return input
}

func TestSignRequest(t *testing.T) {
	s, now := newTestSigner(t), time.Unix(1790000000, 0)
	for _, test := range []struct {
		name, url, host string
		header          http.Header
		want            map[string]string
	}{
		{"a host", "https://API.Example:443/x?y=1", "", nil, map[string]string{`"@authority"`: "api.example"}},
		{"another port", "http://api.example:8080/", "", nil, map[string]string{`"@authority"`: "api.example:8080"}},
		{"the header Host", "http://127.0.0.1:80/", "api.example:80", nil,
			map[string]string{`"@authority"`: "api.example"}},
		{"a price", "https://api.example/", "", http.Header{"Crawler-Max-Price": {" USD 0.01 "}},
			map[string]string{`"@authority"`: "api.example", `"crawler-max-price"`: "USD 0.01"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodGet, test.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = test.host
			if test.header != nil {
				r.Header = test.header
			}
			if err := s.SignRequest(r, now); err != nil {
				t.Fatal(err)
			}
			if got, want := r.Header.Get(AgentHeader), `"https://signature-agent.test"`; got != want {
				t.Errorf("Signature-Agent is %s, want %s", got, want)
			}
			test.want[`"signature-agent"`] = `"https://signature-agent.test"`
			input := verifyWith(t, s, r.Header, test.want)
			for name, want := range map[string]any{"created": int64(1790000000), "expires": int64(1790000300),
				"keyid": s.KeyID(), "tag": "web-bot-auth"} {
				if got, _ := input.Params.Get(name); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			nonce, _ := input.Params.Get("nonce")
			if raw, err := base64.StdEncoding.DecodeString(nonce.(string)); err != nil || len(raw) != nonceBytes {
				t.Errorf("nonce %v has %d bytes", nonce, len(raw))
			}
			StripSignature(r.Header)
			if r.Header.Get("Signature") != "" || r.Header.Get("Signature-Input") != "" || !IsSigned(r.Header) {
				t.Errorf("stripped headers are %v", r.Header)
			}
		})
	}
}

// TestNonces checks that two requests have different nonces.
func TestNonces(t *testing.T) {
	var inputs [2]string
	for i := range inputs {
		r, _ := http.NewRequest(http.MethodGet, "https://api.example/", http.NoBody)
		if err := newTestSigner(t).SignRequest(r, time.Unix(1790000000, 0)); err != nil {
			t.Fatal(err)
		}
		inputs[i] = r.Header.Get("Signature-Input")
	}
	if inputs[0] == inputs[1] {
		t.Errorf("two requests have the input %s", inputs[0])
	}
}

func TestNewSigner(t *testing.T) {
	for _, test := range []struct{ url, agent string }{
		{"https://tollbook.example", "https://tollbook.example"},
		{"https://Tollbook.example:443/", "https://tollbook.example"},
		{"https://tollbook.example:8443", "https://tollbook.example:8443"},
		{"http://tollbook.example", ""},
		{"https://tollbook.example/directory", ""},
		{"https://user:secret@tollbook.example", ""},
		{"tollbook.example", ""},
		{"", ""},
	} {
		s, err := NewSigner(testKey(t), test.url)
		switch {
		case test.agent == "" && err == nil:
			t.Errorf("%s is accepted, as %s", test.url, s.Agent())
		case test.agent != "" && err != nil:
			t.Errorf("%s: %v", test.url, err)
		case test.agent != "" && s.Agent() != test.agent:
			t.Errorf("%s has the agent %s, want %s", test.url, s.Agent(), test.agent)
		}
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(newTestSigner(t).Directory(), &set); err != nil || set.Keys[0]["d"] != "" {
		t.Errorf("the directory is not readable, or has the private key: %v", err)
	}
}
