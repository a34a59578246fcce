package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

// TestNetworks checks how the networks of the file and of flags are combined, and that no error contains a URL.
func TestNetworks(t *testing.T) {
	t.Parallel()
	const own = "0x00000000000000000000000000000000000000aa"
	day := time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, file string
		args       string
		want       []settings.Network
		err        string
	}{
		{name: "flags",
			args: "--rpc eip155:8453=https://a.test/x=y --rpc solana=http://s.test --rpc base=https://b.test " +
				"--start base=2025-10-01", want: []settings.Network{
				{Network: chain.Network{ID: "eip155:8453", RPC: []string{"https://a.test/x=y", "https://b.test"},
					Start: day}},
				{Network: chain.Network{ID: chaintest.SolanaID, RPC: []string{"http://s.test"}}},
			}},
		{name: "a file, over which flags win", args: "--rpc eip155:10=https://c.test --confirmations eip155:10=9",
			want: []settings.Network{
				{Network: chain.Network{ID: "eip155:10", RPC: []string{"https://c.test"}, Confirmations: 9,
					Start: day}},
			},
			file: "[[network]]\ncaip2 = \"eip155:10\"\nrpc = [\"https://a.test\", " +
				"\"https://b.test\"]\nconfirmations = 64\nstart = \"2025-10-01\"\n"},
		{name: "only the network of --network", args: "--network eip155:10", want: []settings.Network{
			{Network: chain.Network{ID: "eip155:10", RPC: []string{"https://a.test"}}},
		},
			file: "[[network]]\ncaip2 = \"eip155:10\"\nrpc = [\"https://a.test\"]\n[[network]]\ncaip2 = " +
				"\"base\"\nrpc = [\"https://b.test\"]\n"},
		{name: "tokens", file: `[[network]]
			caip2 = "eip155:31337"
			rpc = ["http://127.0.0.1:8545"]
			[[network.token]]
			address = "0x00000000000000000000000000000000000000AA"
			symbol = "OWN"
			decimals = 18
			usd = true
			[[network]]
			caip2 = "eip155:8453"
			rpc = ["http://127.0.0.1:8546"]
			[[network.token]]
			address = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
			`, want: []settings.Network{
			{Network: chain.Network{ID: "eip155:31337", RPC: []string{"http://127.0.0.1:8545"},
				Tokens: []chain.Token{{Address: own, Symbol: "OWN", Decimals: 18}}},
				LedgerTokens: []ledger.Token{{Network: "eip155:31337", Address: own, Symbol: "OWN", Decimals: 18,
					USD: true}}},
			{Network: chain.Network{ID: "eip155:8453", RPC: []string{"http://127.0.0.1:8546"},
				Tokens: []chain.Token{{Address: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Symbol: "USDC",
					Decimals: 6}}},
				LedgerTokens: []ledger.Token{{Network: "eip155:8453",
					Address: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Symbol: "USDC", Decimals: 6, USD: true}}},
		}},
		{name: "nothing", err: "tollbook index --once --rpc eip155:8453=https://base.example/rpc"},
		{name: "no node", args: "--network eip155:8453", err: "network eip155:8453 has no node to read it from"},
		{name: "a date for no node", args: "--start eip155:8453=2025-10-01",
			err: "network eip155:8453 has no node to read it from"},
		{name: "no network", args: "--network nowhere", err: `--network "nowhere": give a CAIP-2 id`},
		{name: "no assignment", args: "--rpc https://x.test/" + nodeKey, err: "--rpc: give a CAIP-2 id and a value"},
		{name: "no such scheme", args: "--rpc base=wss://x.test/" + nodeKey,
			err: "--rpc eip155:8453, number 1: give a URL that begins with"},
		{name: "no number", args: "--rpc base=https://x.test --confirmations base=many",
			err: `--confirmations eip155:8453="many": give a number of blocks`},
		{name: "no confirmation", args: "--rpc base=https://x.test --confirmations base=0", err: "at least 1"},
		{name: "no day", args: "--rpc base=https://x.test --start base=2025-13-01",
			err: `--start eip155:8453="2025-13-01": give a day such as 2025-10-01`},
		{name: "twice", file: "[[network]]\ncaip2 = \"base\"\n[[network]]\ncaip2 = \"eip155:8453\"\n",
			err: "[[network]] eip155:8453 appears twice"},
		{name: "without a name", file: "[[network]]\nrpc = [\"https://x.test\"]\n",
			err: "[[network]] number 1 has no caip2"},
		{name: "a wrong address", file: "[[network]]\ncaip2 = \"base\"\nrpc = [\"x.test/" + nodeKey + "\"]\n",
			err: "[[network]] eip155:8453: rpc number 1 must begin with"},
		{name: "nodes that are no list", file: "[[network]]\ncaip2 = \"base\"\nrpc = \"https://x.test/" + nodeKey +
			"\"\n", err: "own.toml:3:7: network.rpc must be a list of strings in quotes"},
		{name: "a wrong key", file: "[[network]]\ncaip2 = \"base\"\nrcp = [\"https://x.test/" + nodeKey + "\"]\n",
			err: `own.toml:3:1: unknown key "network.rcp"; did you mean "network.rpc"?`},
		{name: "a token without decimals",
			file: "[[network]]\ncaip2 = \"base\"\nrpc = [\"https://x.test\"]\n[[network.token]]\naddress = \"" + own +
				"\"\nsymbol = \"X\"\n", err: "[[network.token]] number 1 of eip155:8453: decimals is missing"},
		{name: "a token without a name",
			file: "[[network]]\ncaip2 = \"base\"\nrpc = [\"https://x.test\"]\n[[network.token]]\naddress = \"" + own +
				"\"\ndecimals = 6\n", err: "symbol must have 1 to 32 visible characters"},
		{name: "a token that is none",
			file: "[[network]]\ncaip2 = \"base\"\nrpc = [\"https://x.test\"]\n[[network.token]]\naddress = \"0x1\"\n",
			err:  "not an address of this network"},
		{name: "a token's other decimals",
			file: "[[network]]\ncaip2 = \"base\"\nrpc = [\"https://x.test\"]\n[[network.token]]\naddress = " +
				"\"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913\"\ndecimals = 18\n", err: "this token has 6 " +
				"decimals, not 18"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var o networkOptions
			conf, err := settings.Read("own.toml", []byte(c.file))
			var got []settings.Network
			if err == nil {
				flags := pflag.NewFlagSet("index", pflag.ContinueOnError)
				o.AddFlags(flags)
				if err = flags.Parse(strings.Fields(c.args)); err == nil {
					got, err = o.Networks.Read(conf.Networks)
				}
			}
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), nodeKey) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
