package x402

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestIntegerAmount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"10000", "10000"}, {"007", "7"}, {"0", "0"}, {"000", "0"},
		{"115792089237316195423570985008687907853269984665640564039457584007913129639935",
			"115792089237316195423570985008687907853269984665640564039457584007913129639935"},
		{"1" + strings.Repeat("0", 78), ""}, {strings.Repeat("9", 1000), ""}, {strings.Repeat("0", 1000) + "5", "5"},
		{"", ""}, {"-5", ""}, {"+5", ""}, {"1e4", ""}, {"0.01", ""}, {"$0.01", ""}, {"1,000", ""}, {"0x10", ""},
		{"١٢", ""}, {"1 0", ""},
	} {
		if got := integerAmount(test.text); got != test.want {
			t.Errorf("integerAmount(%.90q) = %q, want %q", test.text, got, test.want)
		}
	}
}

func TestNumberText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ number, want string }{
		{"10000", "10000"}, {"10000.0", "10000"}, {"1e4", "10000"}, {"1E+4", "10000"}, {"12.5e1", "125"},
		{"1e-2", "0.01"},
		{"0.01", "0.01"}, {"0.010", "0.01"}, {"-5", "-5"}, {"-0", "0"}, {"0", "0"},
		{"1e78", "1" + strings.Repeat("0", 78)},
		{"1e999999999", ""}, {"1e-999999999", ""}, {"1e99999999999999999999", ""}, {strings.Repeat("9", 1000), ""},
		{"0." + strings.Repeat("1", 1000), ""},
	} {
		if got := numberText(json.RawMessage(test.number)); got != test.want {
			t.Errorf("numberText(%.60s) = %q, want %q", test.number, got, test.want)
		}
	}
}

func TestPriceUSD(t *testing.T) {
	t.Parallel()
	usdc := Requirement{NetworkCAIP2: "eip155:8453", AssetNorm: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}
	megaUSD := Requirement{NetworkCAIP2: "eip155:4326", AssetNorm: "0xfafddbb3fc7688494971a79cc65dca3ef82079e7"}
	euro := Requirement{NetworkCAIP2: "eip155:8453", AssetNorm: "0x60a3e35cc302bfa44cb288bc5a4f316fdb1adb42"}
	stellar := Requirement{NetworkCAIP2: "stellar:pubnet",
		AssetNorm: "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"}
	rail := Requirement{NetworkCAIP2: "cloudflare:402", AssetNorm: "USD"}
	ripple := Requirement{NetworkCAIP2: "xrpl:0", AssetNorm: "524C555344000000000000000000000000000000",
		Extra: json.RawMessage(`{"issuer":"rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"}`)}
	forged := ripple
	forged.Extra = json.RawMessage(`{"issuer":"rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV"}`)
	for _, test := range []struct {
		row    Requirement
		amount string
		want   string
	}{
		{usdc, "10000", "0.01"}, {usdc, "1", "0.000001"}, {usdc, "1000000", "1"}, {usdc, "0", "0"},
		{usdc, "2500000", "2.5"},
		{usdc, "123456789012345678901234567890", "123456789012345678901234.56789"}, {usdc, "0.01", ""}, {usdc, "", ""},
		{megaUSD, "10000000000000000", "0.01"}, {megaUSD, "1", "0.000000000000000001"},
		{stellar, "100000", "0.01"}, {rail, "5", "0.05"}, {euro, "10000", ""},
		{ripple, "10.5", "10.5"}, {ripple, "10.50", "10.5"}, {ripple, "10", "10"}, {ripple, "1e3", ""},
		{forged, "10.5", ""},
		{Requirement{NetworkCAIP2: "eip155:1", AssetNorm: usdc.AssetNorm}, "10000", ""},
	} {
		test.row.Asset = test.row.AssetNorm
		if test.row.Amount = integerAmount(test.amount); test.row.issuedCurrency() {
			test.row.Amount = decimalAmount(test.amount)
		}
		got, ok := test.row.PriceUSD()
		if got != test.want || ok != (test.want != "") {
			t.Errorf("PriceUSD of %q on %s = %q, %v, want %q", test.amount, test.row.NetworkCAIP2, got, ok, test.want)
		}
	}
}

func TestLessOrEqual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"0.01", "0.02", true}, {"0.5", "0.45", false}, {"0.45", "0.5", true}, {"1000", "1000", true},
		{"1000.000001", "1000", false},
		{"999.999999", "1000", true}, {"10000", "1000", false}, {"0", "0.000001", true}, {"2", "10", true},
	} {
		if got := lessOrEqual(test.a, test.b); got != test.want {
			t.Errorf("lessOrEqual(%s, %s) = %v", test.a, test.b, got)
		}
	}
}

// FuzzAmount reads any text as an amount, a JSON number and a price, and compares the results with exact arithmetic.
func FuzzAmount(f *testing.F) {
	for _, s := range []string{"10000", "0.01", "1e4", "007", "-5", "1e999999999", "0.0000001",
		strings.Repeat("9", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n := integerAmount(s); n != "" {
			want, ok := new(big.Int).SetString(s, 10)
			if !ok || want.String() != n {
				t.Errorf("integerAmount(%q) = %q", s, n)
			}
			usd := shiftPoint(n, 6)
			exact, ok := new(big.Rat).SetString(usd)
			if !ok || exact.Cmp(new(big.Rat).SetFrac(want, big.NewInt(1000000))) != 0 {
				t.Errorf("%q atomic units are %q", n, usd)
			}
			if strings.Contains(usd, ".") && strings.HasSuffix(usd, "0") {
				t.Errorf("%q has zeros that say nothing", usd)
			}
		}
		if kind(json.RawMessage(s)) == '0' && json.Valid([]byte(s)) {
			if text := numberText(json.RawMessage(s)); text != "" {
				got, ok1 := new(big.Rat).SetString(text)
				want, ok2 := new(big.Rat).SetString(strings.TrimSpace(s))
				if !ok1 || !ok2 || got.Cmp(want) != 0 {
					t.Errorf("numberText(%q) = %q", s, text)
				}
			}
		}
		if d := decimalAmount(s); d != "" && d != decimalAmount(d) {
			t.Errorf("decimalAmount(%q) = %q, and once more %q", s, d, decimalAmount(d))
		}
	})
}
