package evm_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/nodetest"
	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/crawl/chain/evm"
	"tollbook/site/postgres/ledger"
)

// mppxFolder pins mppx and viem, and has the program that pays charges with them.
const mppxFolder = "../../../cmd/tollbook/testdata/peers/mppx"

// TestCharges checks that the charges that the client of mppx signs are settlements of the shipped entry, each once,
// and that other transfers with and without a memo are none. A part of a charge that goes to a further recipient has no
// memo, so it is not counted.
func TestCharges(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.Symlink(nodetest.Install(t, mppxFolder), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(mppxFolder, "charges.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "charges.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "charges.mjs")
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pay charges: %v\n%s", err, &stderr)
	}
	bytesOf := func(text string) []byte {
		b, err := hex.DecodeString(strings.TrimPrefix(strings.ToLower(text), "0x"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c := chaintest.New(4217, genesis)
	var want []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var paid struct {
			From   string
			Charge bool
			Logs   []struct {
				Address, Data string
				Topics        []string
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &paid); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		tx := chaintest.Tx{From: chaintest.Address(bytesOf(paid.From)), Nonce: uint64(c.Head().Number)}
		for _, l := range paid.Logs {
			log := chaintest.Log{Contract: chaintest.Address(bytesOf(l.Address)), Data: bytesOf(l.Data)}
			for _, topic := range l.Topics {
				log.Topics = append(log.Topics, chaintest.Hash(bytesOf(topic)))
			}
			tx.Logs = append(tx.Logs, log)
		}
		if paid.Charge {
			want = append(want, fmt.Sprintf("mpp %s: %s pays %d to %s in log 1", mppMark, paid.From, 1000+len(want),
				"0x209693bc6afc0c5328ba36faf03c514ef312287c"))
		}
		c.Add(c.Head().Time.Add(time.Second), tx)
	}
	// the last charge has a part for somebody else
	want[len(want)-1] = strings.Replace(want[len(want)-1], "pays 1003", "pays 996", 1)
	for range 3 {
		c.Add(c.Head().Time.Add(time.Second))
	}

	shipped, err := chain.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger()
	for _, f := range shipped {
		for _, s := range f.Settlers {
			if s.Network == "eip155:4217" {
				l.settlers = append(l.settlers,
					ledger.ScanSettler{Address: s.Address, Facilitator: f.ID, Tokens: s.Tokens})
			}
		}
	}
	x, err := evm.New(chain.Network{ID: "eip155:4217", RPC: []string{serve(t, c)}, Confirmations: 2}, l,
		chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	once(t, x)
	var got []string
	for _, s := range l.settled() {
		got = append(got, fmt.Sprintf("%s %s: %s pays %s to %s in log %d", s.Facilitator, s.Settler, s.Payer, s.Amount,
			s.Payee, s.LogIndex))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settlements (-want +got):\n%s", diff)
	}
}
