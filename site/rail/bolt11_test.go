package rail_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/rail"
	"tollbook/site/rail/railtest"
)

var created = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

// coffee is an example of the specification. documented is the invoice in the specification of L402.
const (
	coffee = "lnbc2500u1pvjluezpp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu" +
		"aztrnwngzn3kdzw5hydlzf03qdgm2hdq27cqv3agm2awhz5se903vruatfhq77w3ls4evs3ch9zw97j25emudupq63nyw24cg27h2rspfj9srp"
	documented = "lnbc1500n1pw5kjhmpp5fu6xhthlt2vucmzkx6c7wtlh2r625r30cyjsfqhu8rsx4xpz5lwqdpa2fjkzep6yptksct5yp5hx" +
		"grrv96hx6twvusycn3qv9jx7ur5d9hkugr5dusx6cqzpgxqr23s79ruapxc4j5uskt4htly2salw4drq979d7rcela9wz02elhypmdzmz" +
		"lnxuknpgfyfm86pntt8vvkvffma5qc9n50h4mvqhngadqy3ngqjcym5a"
)

func TestSpecifiedInvoices(t *testing.T) {
	t.Parallel()
	got, err := rail.ReadInvoice(coffee)
	if err != nil {
		t.Fatal(err)
	}
	want := rail.Invoice{
		Network: rail.InvoiceMainnet, Amount: "250000000", Created: time.Unix(1496314658, 0).UTC(),
		Expiry:      time.Minute,
		PaymentHash: "0001020304050607080900010203040506070809000102030405060708090102",
		Payee:       "03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("coffee (-want +got):\n%s", diff)
	}
	if got, err = rail.ReadInvoice("LIGHTNING:" + strings.ToUpper(documented)); err != nil || got.Amount != "150000" {
		t.Errorf("invoice in capitals: %+v, %v", got, err)
	}
}

func TestAmountsAndNetworks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ prefix, network, amount, fault string }{
		{"bc1", "bip122:000000000019d6689c085ae165831e93", "100000000000", ""},
		{"bc2m", "bip122:000000000019d6689c085ae165831e93", "200000000", ""},
		{"tb15u", "bip122:000000000933ea01ad0ee984209779ba", "1500000", ""},
		{"tbs7n", "bip122:00000008819873e925422c1ff0f99f7c", "700", ""},
		{"bcrt120p", "bip122:0f9188f13cb7b2c71f2a335e3a4fc328", "12", ""},
		{"bc", "bip122:000000000019d6689c085ae165831e93", "", ""},
		{"bc21000000", "bip122:000000000019d6689c085ae165831e93", "2100000000000000000", ""},
		{"bc15p", "", "", "not a whole number of millisatoshis"},
		{"bc0", "", "", "not a positive whole number"},
		{"bc-5u", "", "", "not a positive whole number"},
		{"bc05u", "", "", "not a positive whole number"},
		{"bcm", "", "", "not a positive whole number"},
		{"bc1x", "", "", "not a positive whole number"},
		{"bc999999999", "", "", "more than all bitcoins"},
		{"bc" + strings.Repeat("9", 60), "", "", "more than all bitcoins"},
		{"xx5u", "", "", "unknown network"},
	} {
		for _, withPayee := range []bool{false, true} {
			v, err := rail.ReadInvoice(railtest.Invoice{Prefix: test.prefix, Created: created, WithPayee: withPayee}.Text())
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%s: %v, want %q", test.prefix, err, test.fault)
				}
				continue
			}
			want := rail.Invoice{Network: test.network, Amount: test.amount, Created: created, Expiry: time.Hour,
				PaymentHash: v.PaymentHash,
				Payee:       hex.EncodeToString(railtest.Payee())}
			if diff := cmp.Diff(want, v); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", test.prefix, err, diff)
			}
		}
	}
}

func TestDamagedInvoices(t *testing.T) {
	t.Parallel()
	good := railtest.Invoice{Prefix: "bc5u", Created: created}.Text()
	for name, text := range map[string]string{
		"empty":         "",
		"a word":        "invoice",
		"too short":     "lnbc1qqqqqq",
		"one character": strings.Replace(good, "pp5", "pp4", 1),
		"cut":           good[:len(good)-1],
		"mixed case":    strings.Replace(good, "lnbc", "lnBC", 1),
		"an address":    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
		"no hash":       railtest.Invoice{Prefix: "bc5u", Created: created, NoHash: true}.Text(),
		"huge":          "lnbc1" + strings.Repeat("q", rail.MaxInvoice),
		"not ASCII":     "lnbc1é" + good,
	} {
		if v, err := rail.ReadInvoice(text); err == nil {
			t.Errorf("%s: read as %+v", name, v)
		}
	}
}

func FuzzReadInvoice(f *testing.F) {
	f.Add(coffee)
	f.Add(documented)
	f.Add(railtest.Invoice{Prefix: "tb15u", Created: created, Expiry: time.Minute, WithPayee: true}.Text())
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rail.ReadInvoice(text)
		if err != nil {
			return
		}
		if len(v.PaymentHash) != 64 || len(v.Payee) != 66 || v.Expiry < 0 || strings.HasPrefix(v.Amount, "0") ||
			len(v.Amount) > 19 || v.Network == "" {
			t.Errorf("Read(%q) = %+v", text, v)
		}
	})
}
