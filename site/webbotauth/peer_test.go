package webbotauth

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/nodetest"
)

// peerFolder has what Cloudflare's verifiers of npm need.
const peerFolder = "testdata/peer"

// TestPeerLock checks that the lock file pins the verifiers by hashes and names no registry.
func TestPeerLock(t *testing.T) {
	nodetest.CheckLock(t, peerFolder, map[string]string{"web-bot-auth": "0.1.3", "http-message-sig": "0.2.0"})
}

// dictionarySigned returns the headers of a request whose Signature-Agent is a dictionary, as newer drafts want it.
func dictionarySigned(t *testing.T, s *Signer) map[string]string {
	t.Helper()
	now := time.Now()
	input, signature, err := s.sign("sig1", []component{{name: "@authority", value: "api.example"},
		{name: "signature-agent", key: "sig1", value: `"` + s.Agent() + `"`}},
		parameters{created: now, expires: now.Add(time.Minute), keyID: s.KeyID(), algorithm: "ed25519",
			tag: "web-bot-auth"}.values())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{AgentHeader: `sig1="` + s.Agent() + `"`, inputHeader: input, signatureHeader: signature}
}

// TestPeer lets Cloudflare's packages web-bot-auth and http-message-sig verify a request as a server receives it, and
// the proof of the key directory.
func TestPeer(t *testing.T) {
	modules := nodetest.Install(t, peerFolder)
	s := newTestSigner(t)
	received := make(chan map[string]string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		headers := map[string]string{}
		for name := range r.Header {
			headers[name] = r.Header.Get(name)
		}
		received <- headers
	}))
	defer server.Close()
	r, err := http.NewRequest(http.MethodGet, server.URL+"/quote?x=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SignRequest(r, time.Now()); err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	proof := http.Header{}
	if err := s.SignDirectory(proof, time.Now()); err != nil {
		t.Fatal(err)
	}
	headers := map[string]string{}
	for name := range proof {
		headers[name] = proof.Get(name)
	}
	in, err := json.Marshal(map[string]any{
		"request":    map[string]any{"method": r.Method, "url": r.URL.String(), "headers": <-received},
		"dictionary": map[string]any{"url": "https://api.example/", "headers": dictionarySigned(t, s)},
		"directory": map[string]any{"url": s.Agent() + "/" + DirectoryFile, "body": string(s.Directory()),
			"headers": headers},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", peerFolder+"/verify.mjs", modules)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("verify.mjs: %v\n%s", err, &stderr)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	want := map[string]any{"keyid": s.KeyID(), "request": true, "otherHost": false,
		"dictionary": false, "directory": "http-message-signatures-directory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the verifiers found (-want +got):\n%s", diff)
	}
}
