package rail

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/x402"
)

// Terms for the tests of conflicts.
const (
	alice = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	bob   = "0x742d35Cc6634C0532925a3b844Bc454e4438f44e"
	usdc  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
)

func row(network, asset, amount, payTo string) Terms {
	return Terms{Protocol: X402, Scheme: "exact", Network: network, NetworkCAIP2: network, Asset: asset, Amount: amount,
		PayTo: payTo}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const base, polygon = "eip155:8453", "eip155:137"
	good := row(base, usdc, "2500", alice)
	upto := good
	upto.Scheme = "upto"
	mpp := good
	mpp.Protocol, mpp.PayTo = MPP, bob
	for _, test := range []struct {
		name        string
		here, there []Terms
		want        string
	}{
		{"the same", []Terms{good}, []Terms{good}, ""},
		{"another spelling", []Terms{good}, []Terms{row(base, "0x833589FCD6EDB6E08F4C7C32D4F71B54BDA02913", "2500",
			"0x209693bc6afc0c5328ba36faf03c514ef312287c")}, ""},
		{"fewer ways", []Terms{good, row(polygon, usdc, "2500", alice)}, []Terms{good}, ""},
		{"more ways", []Terms{good}, []Terms{good, row(base, usdc, "1", bob)}, ""},
		{"nothing", []Terms{good}, nil, ""},
		{"another scheme", []Terms{good}, []Terms{upto}, ""},
		{"another protocol", []Terms{good}, []Terms{mpp}, ""},
		{"another recipient", []Terms{good}, []Terms{row(base, usdc, "2500", bob)}, OfRecipient},
		{"another recipient and amount", []Terms{good}, []Terms{row(base, usdc, "1", bob)}, OfRecipient},
		{"another amount", []Terms{good}, []Terms{row(base, usdc, "25000", alice)}, OfAmount},
		{"another asset", []Terms{good}, []Terms{row(base, bob, "2500", alice)}, OfAsset},
		{"another network", []Terms{good}, []Terms{row(polygon, usdc, "2500", alice)}, OfNetwork},
		{"one of two rows", []Terms{good, row(polygon, usdc, "7", alice)},
			[]Terms{good, row(polygon, usdc, "7", bob)}, OfRecipient},
		{"the nearest pair", []Terms{good, row(polygon, usdc, "7", alice)},
			[]Terms{row(polygon, usdc, "7", bob), row(base, bob, "1", bob)}, OfRecipient},
	} {
		got := ""
		if c := Compare(Side{"a", test.here}, Side{"b", test.there}); c != nil {
			got = c.Of
		}
		if got != test.want {
			t.Errorf("%s: %q differs, want %q", test.name, got, test.want)
		}
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	tempoTo := func(to, amount string) string {
		return payment("tempo", "charge", `{"amount":"`+amount+`",`+pathUSD+`,"recipient":"`+to+`"}`)
	}
	for _, test := range []struct {
		name   string
		answer Answer
		want   []string
	}{
		{"one challenge", answer(tempoTo(alice, "10000")), nil},
		{"the same twice", answer(tempoTo(alice, "10000"), tempoTo(alice, "10000")), nil},
		{"two recipients", answer(tempoTo(alice, "10000"), tempoTo(bob, "10000")), []string{"two terms for one " +
			"request, of which the recipient differs: challenge 1 asks for 10000 of pathUSD on eip155:4217 to " + alice +
			"; challenge 2 asks for 10000 of pathUSD on eip155:4217 to " + bob}},
		{"two amounts", answer(tempoTo(alice, "10000"), tempoTo(alice, "20000")), []string{"two terms for one " +
			"request, of which the amount differs: challenge 1 asks for 10000 of pathUSD on eip155:4217 to " + alice +
			"; challenge 2 asks for 20000 of pathUSD on eip155:4217 to " + alice}},
		{"alternatives", answer(tempoTo(alice, "10000"), payment("stripe", "charge", `{"amount":"50","currency":"usd"}`),
			payment("tempo", "session", `{"amount":"1",`+pathUSD+`,"recipient":"`+bob+`"}`)), nil},
		{"one cannot be paid", answer(tempoTo(alice, "10000"), tempoTo(bob, "0")), nil},
	} {
		var got []string
		for _, c := range Conflicts(x402.Captured{}, Read(test.answer)) {
			got = append(got, c.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestCompareReaders(t *testing.T) {
	t.Parallel()
	agent := Reader{AsAgent, "GET", 402, []Terms{row("eip155:8453", usdc, "2500", alice)}}
	of := func(as, amount, payTo string) Reader {
		return Reader{as, "POST", 402, []Terms{row("eip155:8453", usdc, amount, payTo)}}
	}
	for _, test := range []struct {
		name    string
		readers []Reader
		want    int
	}{
		{"nobody", nil, 0},
		{"one", []Reader{agent}, 0},
		{"equal", []Reader{agent, of(AsBrowser, "2500", alice), of(AsOtherMethod, "2500", alice)}, 0},
		{"a browser that pays more", []Reader{agent, of(AsBrowser, "9000", alice)}, 1},
		{"a method that costs more", []Reader{agent, of(AsOtherMethod, "9000", alice)}, 0},
		{"a method that pays another", []Reader{agent, of(AsBrowser, "2500", alice), of(AsOtherMethod, "2500", bob)}, 1},
		{"a client that pays more", []Reader{agent, of(AsClient, "9000", alice)}, 1},
		{"a price for those that do not sign", []Reader{agent, of(AsUnsigned, "9000", alice)}, 0},
		{"a recipient for those that do not sign", []Reader{agent, of(AsUnsigned, "2500", bob)}, 1},
		{"a browser that pays nothing", []Reader{agent, {As: AsBrowser, Status: 200}}, 0},
	} {
		if got := CompareReaders(test.readers); len(got) != test.want {
			t.Errorf("%s: %v, want %d conflicts", test.name, got, test.want)
		}
	}
}
