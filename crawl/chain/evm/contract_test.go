package evm

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/sha3"

	"tollbook/cmd/nodetest"
)

// readSDK prints what a package's modules export: addresses, and the signatures of the events of its ABIs.
const readSDK = `
import { readdirSync } from "node:fs"
const folder = process.argv[1]
const found = { addresses: {}, events: {} }
for (const file of readdirSync(folder).filter((f) => f.endsWith(".mjs"))) {
	for (const [name, value] of Object.entries(await import(folder + "/" + file))) {
		if (/^0x[0-9a-f]{40}$/i.test(value)) found.addresses[name] = value.toLowerCase()
		if (!Array.isArray(value)) continue
		const events = value.filter((v) => v.type === "event")
		if (events.length > 0) {
			found.events[name] = events.map((e) => e.name + "(" + e.inputs.map((i) =>
				i.type + (i.indexed ? " indexed" : "")).join(",") + ")").sort()
		}
	}
}
console.log(JSON.stringify(found))
`

// TestContractsAreTheSDKs compares the contracts of x402 and their events with the official SDK.
func TestContractsAreTheSDKs(t *testing.T) {
	t.Parallel()
	modules := nodetest.Install(t, "../../../cmd/tollbook/testdata/sdk", "--legacy-peer-deps")
	folder, err := filepath.Abs(filepath.Join(modules, "@x402/evm/dist/esm"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval",
		readSDK, folder).Output()
	if err != nil {
		t.Fatalf("read @x402/evm: %v", err)
	}
	type sdk struct {
		Addresses map[string]string
		Events    map[string][]string
	}
	var all sdk
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v: %.200q", err, out)
	}
	got := sdk{map[string]string{}, map[string][]string{}}
	want := sdk{
		map[string]string{
			"x402ExactPermit2ProxyAddress": exactProxy.String(), "x402UptoPermit2ProxyAddress": uptoProxy.String(),
			"BATCH_SETTLEMENT_ADDRESS":          batchSettlement.String(),
			"ERC3009_DEPOSIT_COLLECTOR_ADDRESS": depositCollectors[0].String(),
			"PERMIT2_DEPOSIT_COLLECTOR_ADDRESS": depositCollectors[1].String(),
		},
		map[string][]string{
			"x402ExactPermit2ProxyABI": {"Settled()", "SettledWithPermit()"},
			"x402UptoPermit2ProxyABI":  {"Settled()", "SettledWithPermit()"},
			"batchSettlementABI":       {"Settled(address indexed,address indexed,address indexed,uint128)"},
		},
	}
	for name := range want.Addresses {
		got.Addresses[name] = all.Addresses[name]
	}
	for name := range want.Events {
		got.Events[name] = all.Events[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("@x402/evm (-ours +theirs):\n%s", diff)
	}
}

// TestTopics computes the first topics of events from their signatures.
func TestTopics(t *testing.T) {
	t.Parallel()
	for signature, want := range map[string]hash{
		"Transfer(address,address,uint256)":        topicTransfer,
		"AuthorizationUsed(address,bytes32)":       topicAuthorizationUsed,
		"Settled()":                                topicSettled,
		"SettledWithPermit()":                      topicSettledWithPermit,
		"Settled(address,address,address,uint128)": topicRedeemed,
	} {
		k := sha3.NewLegacyKeccak256()
		k.Write([]byte(signature))
		if got := hash(k.Sum(nil)); got != want {
			t.Errorf("%s: topic %v, want %v", signature, got, want)
		}
	}
}
