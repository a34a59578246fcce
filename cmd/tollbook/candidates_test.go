package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/polls"
)

// announces stores an answer of a facilitator that settles on Base and announces accounts on networks.
func announces(t *testing.T, db *postgres.DB, id, url string, accounts ...[2]string) {
	t.Helper()
	at := time.Now().Add(-time.Minute)
	p := polls.Poll{FacilitatorID: id, URL: url, At: at, NextAt: at.Add(time.Hour),
		Supported: polls.Response{Outcome: polls.Answered, Code: new(200), Latency: new(time.Millisecond)},
		Kinds:     []polls.Kind{{Version: 2, Scheme: "exact", Network: "eip155:8453"}}}
	for _, a := range accounts {
		p.Signers = append(p.Signers, polls.Signer{Networks: a[0], Address: a[1], Origin: "signers"})
	}
	if err := db.RecordPoll(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// TestAcceptCandidate accepts an account that a facilitator announces. Afterwards the settlements are the same as if it
// had been listed from the start. Lies about the accounts of others are refused.
func TestAcceptCandidate(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	if code, _, stderr := n.once(t, n.env); code != 0 {
		t.Fatal(stderr)
	}
	want := sums(t, n.env)["eip155:8453"]
	_, settlerOnSolana := chaintest.SolanaHistory(100)
	shared, insecure := "0x"+strings.Repeat("5", 40), "0x"+strings.Repeat("6", 40)

	file := filepath.Join(t.TempDir(), "list.json")
	write(t, file, fmt.Sprintf(`{"facilitators": [
		{"id": "acme", "name": "Acme", "facilitator_url": "https://acme.test", "upstream_status": "merged", "addresses": [
			{"network": %q, "address": %q, "tokens": [%q]}]},
		{"id": "liar", "name": "Liar", "facilitator_url": "https://liar.test", "upstream_status": "pull_request"},
		{"id": "plain", "name": "Plain", "facilitator_url": "http://plain.test", "upstream_status": "merged"}]}`,
		chaintest.SolanaID, settlerOnSolana, chaintest.SolanaUSDC))
	env := n.directory(t, file)
	if got := ran(t, env, "facilitators", "candidates"); !strings.Contains(got, "no facilitator was asked yet") {
		t.Errorf("without polls: %s", got)
	}
	if code, _, stderr := n.once(t, env); code != 0 { // the settlements on Base are nobody's
		t.Fatal(stderr)
	}
	db, err := postgres.Open(t.Context(), strings.TrimPrefix(env[0], "DATABASE_URL="))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	announces(t, db, "acme", "https://acme.test", [2]string{"eip155:*", settlerOnBase},
		[2]string{"eip155:8453", shared},
		[2]string{"solana:*", settlerOnSolana})
	announces(t, db, "liar", "https://liar.test", [2]string{"solana:*", settlerOnSolana}, [2]string{"eip155:*", shared})
	announces(t, db, "plain", "http://plain.test", [2]string{"eip155:*", insecure})

	type row struct {
		Network  string `json:"network_caip2"`
		Address  string
		Evidence string
	}
	got := decode[[]row](t, ran(t, env, "facilitators", "candidates", "--json"))
	for i := range got {
		got[i].Address = strings.ToLower(got[i].Address)
	}
	if diff := cmp.Diff([]row{{"eip155:8453", shared, "announced"},
		{"eip155:8453", insecure, "announced_without_tls"}, {"eip155:8453", settlerOnBase, "announced"}},
		got); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ args, want string }{
		{"nobody " + settlerOnBase, "there is no facilitator nobody"},
		{"liar " + settlerOnSolana, "it is listed as an account of acme already"},
		{"liar " + settlerOnBase, "announced by acme, not by liar"},
		{"acme " + shared, "liar announces it too"},
		{"plain " + insecure, "announced over plain HTTP"},
		{"acme 0x" + strings.Repeat("7", 40), "acme does not announce it"},
		{"acme " + settlerOnBase + " " + shared, "liar announces it too"}, // all or none
		{"acme " + settlerOnBase + " --withdraw", "no account of acme that was accepted"},
	} {
		code, _, stderr := tollbook(t, env, append([]string{"facilitators", "accept"}, strings.Fields(c.args)...)...)
		if code != 1 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "nothing was ") {
			t.Errorf("accept %s: exit %d, want 1 and %q\n%s", c.args, code, c.want, stderr)
		}
	}
	if code, _, stderr := tollbook(t, env, "facilitators", "accept", "acme"); code != 2 ||
		!strings.Contains(stderr, "ADDRESS is missing") {
		t.Errorf("accept without an address: exit %d\n%s", code, stderr)
	}

	spelt := "0xA0000000000000000000000000000000000000A1" // upper case has no checksum
	accepted := ran(t, env, "facilitators", "accept", "acme", spelt)
	if accepted != "acme: 1\u00a0account accepted on eip155:8453; the next index reads the past settlements too\n" {
		t.Errorf("accept: %q", accepted)
	}
	if code, _, stderr := n.once(t, env); code != 0 {
		t.Fatal(stderr)
	}
	if got := sums(t, env)["eip155:8453"]; got != want {
		t.Errorf("after the acceptance %s, want %s as if it had been listed", got, want)
	}
	if got := ran(t, env, "facilitators", "import", file); !strings.Contains(got, "0 removed") {
		t.Errorf("an import removes accounts: %s", got)
	}
	if got := ran(t, env, "facilitators", "accept", "acme", spelt, "--withdraw", "--json"); !strings.Contains(got,
		`"withdrawn":true`) {
		t.Errorf("withdraw: %s", got)
	}
	if got := ran(t, env, "facilitators", "candidates"); !strings.Contains(got, spelt[:5]) {
		t.Errorf("a withdrawn account is no candidate:\n%s", got)
	}
}
