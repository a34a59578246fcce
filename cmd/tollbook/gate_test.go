package main

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/gate"
	"tollbook/site/testgate"
)

// gateQuestion is a requirement with the verdict on it.
type gateQuestion struct {
	Resource    string            `json:"resource"`
	Requirement map[string]string `json:"requirement"`
	Want        string            `json:"want"`
}

// TestGateOfDirectory signs the demo's snapshot, serves it, and asks it with both packages whether the payments of its
// services are as observed. verify sees a gate that was signed with another key.
func TestGateOfDirectory(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	w := newWorld(t)
	folder := t.TempDir()
	pem, err := archive.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := archive.ParseKey(pem)
	if err != nil {
		t.Fatal(err)
	}
	public := string(archive.PublicKey(key))
	publicFile, pointer := writeFile(t, "public.pem", []byte(public)), filepath.Join(folder, archive.CheckpointFile)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(w.data, "public"))); err != nil {
		t.Fatal(err)
	}
	c, err := archive.ReadCheckpoint(pointer)
	if err != nil {
		t.Fatal(err)
	}
	c = c.Sign(key)
	if err := os.WriteFile(pointer, c.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	ran(t, nil, "verify", folder, "--key", publicFile)
	p := command(t, nil, "serve", "--from", folder, "--serve-listen", "127.0.0.1:0").start(t)
	directory := strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/")

	var questions []gateQuestion
	for _, row := range readDirectory[site.List[site.Allowance, site.PaginationMeta]](t, w.handler, "/v1/allow").Data {
		d := readDirectory[site.One[site.ServiceDetail]](t, w.handler, "/v1/services/"+row.Slug).Data
		i := slices.IndexFunc(d.Endpoints, func(e site.Endpoint) bool {
			return e.Verdict.Level == site.AdviceGood && len(e.X402Pricing()) > 0 && e.X402Pricing()[0].NetworkCAIP2 != nil
		})
		if i < 0 {
			continue
		}
		price := d.Endpoints[i].X402Pricing()[0]
		ask := func(want, name, value string) {
			q := map[string]string{"network": *price.NetworkCAIP2, "asset": price.AssetAddress, "payTo": price.PayTo,
				"amount": price.Price}
			if name != "" {
				q[name] = value
			}
			questions = append(questions, gateQuestion{d.BaseURL + d.Endpoints[i].Path, q, want})
		}
		ask(gate.Match, "", "")
		ask(gate.NewRecipient, "payTo", "0x000000000000000000000000000000000000dEaD")
		ask(gate.OtherToken, "asset", "0x000000000000000000000000000000000000dEaD")
		ask(gate.NewPrice, "amount", price.Price+"0000")
	}
	if len(questions) < 40 {
		t.Fatalf("the demo has %d questions", len(questions))
	}

	client, err := gate.New(gate.Options{Directory: directory, Key: key.Public().(ed25519.PublicKey),
		MaxAge: 100 * 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		got, err := client.Check(t.Context(), gate.Requirement{Network: q.Requirement["network"],
			Asset: q.Requirement["asset"], PayTo: q.Requirement["payTo"], Amount: q.Requirement["amount"]}, q.Resource)
		if err != nil || got.Verdict != q.Want {
			t.Errorf("Go: %s %v: %+v, %v, want %s", q.Resource, q.Requirement, got, err, q.Want)
		}
	}
	module, err := filepath.Abs("../../site/gate/npm/dist/index.mjs")
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", `
		const { createGate } = await import("file://" + process.env.MODULE);
		const gate = createGate({ directory: process.env.DIRECTORY, key: process.env.KEY, unreachable: "refuse", maxAge: 1e13 });
		for (const q of JSON.parse(process.env.QUESTIONS)) {
		  const got = await gate.check(q.requirement, q.resource);
		  if (got.verdict !== q.want) console.log(JSON.stringify({ q, got }));
		}`)
	cmd.Env = append(os.Environ(), "MODULE="+module, "DIRECTORY="+directory, "KEY="+public, "QUESTIONS="+string(input))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("JavaScript: %v\n%s", err, out)
	}

	c.GateSignature = c.Signature
	if err := os.WriteFile(pointer, c.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := tollbook(t, nil, "verify", folder, "--key", publicFile); code == 0 ||
		!strings.Contains(stderr, "is not signed with the key of --key") {
		t.Errorf("verify of a forged signature: exit %d\n%s", code, stderr)
	}
}
