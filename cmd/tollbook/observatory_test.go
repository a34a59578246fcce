package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/sample"
	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// writeCertificate writes the key and the certificate of localhost to a file, and the root that issued it to another.
func writeCertificate(t *testing.T) (certificate, root string) {
	t.Helper()
	ca, err := sample.NewAuthority("localhost")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Certificate("localhost", false)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificate, root = filepath.Join(t.TempDir(), "localhost.pem"), filepath.Join(t.TempDir(), "root.pem")
	write(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Certificate[0]})))
	write(t, root, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Root().Raw})))
	return certificate, root
}

// TestSDKFacilitatorFromPollToMatrix polls a facilitator made of the official x402 SDK over TLS. The matrix must show
// what its SDK says that it settles, and its accounts are candidates, announced over TLS. The same server under a name
// that its certificate does not have is unreachable.
func TestSDKFacilitatorFromPollToMatrix(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE sets the trusted roots on Linux alone")
	}
	certificate, root := writeCertificate(t)
	var sdk struct {
		Port      int
		Supported struct {
			Kinds []struct{ Scheme, Network string }
		}
	}
	startNodeProgram(t, "testdata/sdk", "facilitator.mjs", &sdk, certificate)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "SSL_CERT_FILE=" + root}
	data := t.TempDir()
	list := filepath.Join(data, "facilitators.json")
	write(t, list, fmt.Sprintf(`{"facilitators": [
		{"id": "sdk", "name": "SDK", "facilitator_url": "https://localhost:%[1]d", "upstream_status": "merged"},
		{"id": "other-name", "name": "Other", "facilitator_url": "https://127.0.0.1:%[1]d",
			"upstream_status": "merged"}]}`, sdk.Port))
	ran(t, env, "facilitators", "import", list)
	ran(t, env, "crawl", "--once", "--data", data, "--crawl-host-gap", "1ms",
		"--crawl-allow-private", fmt.Sprintf("localhost:%d", sdk.Port),
		"--crawl-allow-private", fmt.Sprintf("127.0.0.1:%d", sdk.Port))
	ran(t, env, "build", "--data", data)

	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(data, "public", "current", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	matrix := decode[struct{ Data site.FacilitatorMatrix }](t, read("v1/facilitators/matrix.json")).Data
	want, got := map[string]bool{}, map[string]bool{}
	for _, k := range sdk.Supported.Kinds {
		want[k.Network+" "+k.Scheme] = true
	}
	for _, k := range matrix.Kinds {
		got[k.NetworkCAIP2+" "+k.Scheme] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) != 4 {
		t.Errorf("%d kinds (-SDK +matrix):\n%s", len(want), diff)
	}
	var states []string
	for _, f := range matrix.Facilitators {
		states = append(states, fmt.Sprintf("%s %s %d kinds %d accounts", f.FacilitatorID, f.State, f.KindCount,
			f.SignerCount))
	}
	if diff := cmp.Diff([]string{"other-name unreachable 0 kinds 0 accounts", "sdk answered 4 kinds 2 accounts"},
		states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	detail := decode[struct{ Data site.FacilitatorDetail }](t, read("v1/facilitators/sdk.json")).Data.Supported
	if detail.Uptime30d == nil || *detail.Uptime30d != 100 || detail.HealthUptime30d == nil ||
		*detail.HealthUptime30d != 100 || detail.MedianLatencyMS30d == nil ||
		!cmp.Equal(detail.Extensions, []string{"bazaar"}) {
		t.Errorf("supported %s, want a latency, 100%% uptime of both documents and the extension", encoded(t, detail))
	}
	if page := read("facilitators/matrix.html"); !strings.Contains(page, ">SDK<") {
		t.Errorf("the page of the matrix does not name the facilitator:\n%s", page)
	}
	type candidate struct {
		Network  string `json:"network_caip2"`
		Evidence string
	}
	if diff := cmp.Diff([]candidate{{"eip155:137", "announced"}, {"eip155:8453", "announced"},
		{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "announced"}},
		decode[[]candidate](t, ran(t, env, "facilitators", "candidates", "--json"))); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}
