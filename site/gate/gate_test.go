package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/x402"
)

var update = flag.Bool("update", false, "write testdata/vectors.json and the data of the package in npm")

const (
	usdc  = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	other = "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb"
	payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	thief = "0xBad0000000000000000000000000000000000000"
	base  = "eip155:8453"
	mint  = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	payee = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	sol   = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	hour  = time.Hour
)

var builtAt = time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)

// sampleFile is the file of the vectors.
func sampleFile(t testing.TB) []byte {
	t.Helper()
	var w Writer
	w.Add("https://api.acme.test/quote", LevelGood, []Option{{base, usdc, payTo, "10000"}, {sol, mint, payee, "12500"}})
	w.Add("https://api.acme.test/quote", LevelGood, []Option{{base, usdc, payTo, "25000"}}) // POST
	w.Add("https://api.acme.test/careful", LevelCaution, []Option{{base, usdc, payTo, "0"}})
	w.Add("https://api.acme.test/taken", LevelDanger, []Option{{base, usdc, thief, "10000"}})
	w.Add("https://api.acme.test/", LevelUnknown, nil)
	w.Add("http://127.0.0.1:8080/dear", LevelGood, []Option{{base, usdc, payTo, new(big.Int).Sub(new(big.Int).Lsh(
		big.NewInt(1), 256), big.NewInt(1)).String()}, {base, other, payTo, "1.5"}})
	for i := range 40 {
		w.Add(fmt.Sprintf("https://h%d.acme.test/%d", i%8, i), LevelGood, []Option{{base, usdc, payTo, fmt.Sprint(i)}})
	}
	data, err := w.Encode(builtAt)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// vector is a question with its answer.
type vector struct {
	About    string `json:"about"`
	Resource string `json:"resource"`
	Network  string `json:"network"`
	Asset    string `json:"asset"`
	PayTo    string `json:"payTo"`
	Amount   string `json:"amount"`
	AgeHours int    `json:"age_hours"`
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Observed string `json:"observed"`
}

// TestVectors holds the rule. @tollbook/gate reads the same vectors.
func TestVectors(t *testing.T) {
	data := sampleFile(t)
	ask := func(about, resource, network, asset, to, amount string, hours int, verdict, reason, observed string) vector {
		return vector{about, resource, network, asset, to, amount, hours, verdict, reason, observed}
	}
	quote := "https://API.acme.test/quote?symbol=ACME#top"
	vectors := []vector{
		ask("as observed", quote, base, usdc, payTo, "10000", 1, Match, "", "25000"),
		ask("the largest amount of all methods", quote, base, usdc, payTo, "25000", 1, Match, "", "25000"),
		ask("cheaper than ever", quote, base, usdc, payTo, "1", 1, Match, "", "25000"),
		ask("addresses in lower case, a name of version 1", quote, "base", strings.ToLower(usdc), strings.ToLower(payTo),
			"10000", 1, Match, "", "25000"),
		ask("Solana by name", quote, "solana", mint, payee, "12500", 1, Match, "", "12500"),
		ask("one unit above", quote, base, usdc, payTo, "25001", 1, NewPrice, "", "25000"),
		ask("an amount with a point", quote, base, usdc, payTo, "1.0", 1, NewPrice, "", "25000"),
		ask("a negative amount", quote, base, usdc, payTo, "-1", 1, NewPrice, "", "25000"),
		ask("no amount", quote, base, usdc, payTo, "", 1, NewPrice, "", "25000"),
		ask("2^256", quote, base, usdc, payTo, new(big.Int).Lsh(big.NewInt(1), 256).String(), 1, NewPrice, "", "25000"),
		ask("another recipient", quote, base, usdc, thief, "10000", 1, NewRecipient, "", ""),
		ask("the recipient on another network", quote, "eip155:137", usdc, payTo, "10000", 1, NewRecipient, "", ""),
		ask("the recipient of another network", quote, sol, mint, payTo, "10000", 1, NewRecipient, "", ""),
		ask("another token", quote, base, other, payTo, "10000", 1, OtherToken, "", ""),
		ask("a network without a name", quote, "moon", usdc, payTo, "10000", 1, NewRecipient, "", ""),
		ask("nothing", quote, "", "", "", "", 1, NewRecipient, "", ""),
		ask("caution", "https://api.acme.test/careful", base, usdc, payTo, "0", 1, Match, "", "0"),
		ask("caution, above 0", "https://api.acme.test/careful", base, usdc, payTo, "1", 1, NewPrice, "", "0"),
		ask("danger, as observed", "https://api.acme.test/taken", base, usdc, thief, "1", 1, Danger, "", "10000"),
		ask("not judged", "https://api.acme.test/", base, usdc, payTo, "1", 1, Unknown, ReasonUnjudged, ""),
		ask("not judged, without a path", "https://api.acme.test", base, usdc, payTo, "1", 1, Unknown, ReasonUnjudged, ""),
		ask("another path", "https://api.acme.test/quotes", base, usdc, payTo, "1", 1, Unknown, ReasonUnlisted, ""),
		ask("another scheme", "http://api.acme.test/quote", base, usdc, payTo, "1", 1, Unknown, ReasonUnlisted, ""),
		ask("another host", "https://acme.test/quote", base, usdc, payTo, "1", 1, Unknown, ReasonUnlisted, ""),
		ask("a port, and the largest amount", "http://127.0.0.1:8080/dear", base, usdc, payTo,
			new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String(), 1, Match, "",
			new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String()),
		ask("an amount that was left out", "http://127.0.0.1:8080/dear", base, other, payTo, "1", 1, OtherToken, "", ""),
		ask("at the age limit", quote, base, usdc, payTo, "10000", 24, Match, "", "25000"),
		ask("stale", quote, base, usdc, payTo, "10000", 25, Unknown, ReasonStale, "25000"),
		ask("stale goes before danger", "https://api.acme.test/taken", base, usdc, thief, "1", 25, Unknown, ReasonStale,
			"10000"),
	}
	for _, v := range vectors {
		normal, err := listing.NormalURL(v.Resource)
		if err != nil {
			t.Fatal(err)
		}
		record := find(t, data, normal)
		got := Judge(record, Requirement{v.Network, v.Asset, v.PayTo, v.Amount}, builtAt,
			builtAt.Add(time.Duration(v.AgeHours)*hour), 24*hour)
		want := Result{Verdict: v.Verdict, Reason: v.Reason, Observed: v.Observed, AsOf: builtAt}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v.About, diff)
		}
	}
	file := struct {
		About   string    `json:"about"`
		BuiltAt string    `json:"built_at"`
		File    string    `json:"file"`
		Max     int       `json:"max_age_hours"`
		Vectors []vector  `json:"vectors"`
		Amounts []amounts `json:"amounts"`
	}{"Questions to a file, and the answers of the rule. TestVectors writes them with -update.",
		builtAt.Format(time.RFC3339), base64.StdEncoding.EncodeToString(data), 24, vectors, encodedAmounts()}
	compareFile(t, "testdata/vectors.json", append(indent(t, file), '\n'))
}

func find(t *testing.T, data []byte, normal string) *Record {
	t.Helper()
	h, err := ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	at, size := h.Bucket(normal)
	r, err := h.Find(data[at:at+size], normal)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func indent(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// compareFile compares a file with what it must be, or writes it.
func compareFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: run go test ./site/gate -update (-want +got):\n%s", name, diff)
	}
}

// amounts is an amount with its bytes in the file.
type amounts struct {
	Amount string `json:"amount"`
	Bytes  string `json:"bytes"`
}

func encodedAmounts() (list []amounts) {
	for _, s := range []string{"0", "1", "10", "127", "128", "10000", "12345", "340282366920938463463374607431768211456"} {
		n, _ := parseAmount(s)
		list = append(list, amounts{s, fmt.Sprintf("%x", appendAmount(nil, n))})
	}
	return list
}

// paidNames are the names without a CAIP-2 id for which a client in JavaScript signs: those of version 1 of x402, which
// TestNames compares with the SDKs, and the methods of MPP that stand for a network.
var paidNames = []string{"abstract", "abstract-testnet", "avalanche", "avalanche-fuji", "base", "base-sepolia", "celo",
	"educhain", "ethereum", "flare", "iotex", "megaeth", "monad", "peaq", "polygon", "polygon-amoy", "sei",
	"sei-testnet", "sepolia", "skale-base-sepolia", "solana", "stable",
	"stable-testnet", "story", "tempo"}

// TestData writes the tables that the package in npm has from Go: the rule, and the names of networks.
func TestData(t *testing.T) {
	var b strings.Builder
	b.WriteString("// Written by go test ./site/gate -update. Do not edit.\n")
	rules, err := json.Marshal(Rules)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "export const rules = %s;\nexport const networks = {\n", rules)
	for _, name := range paidNames {
		named, ok := x402.ResolveNetwork(name)
		if !ok {
			t.Fatalf("%s is no network", name)
		}
		id := strings.TrimPrefix(named, "eip155:")
		if id == named {
			id = fmt.Sprintf("%q", id)
		}
		fmt.Fprintf(&b, "  %q: %s,\n", name, id)
	}
	b.WriteString("};\n")
	if err := os.MkdirAll("npm", 0o755); err != nil {
		t.Fatal(err)
	}
	compareFile(t, "npm/data.mjs", []byte(b.String()))
}

func TestAmounts(t *testing.T) {
	for _, a := range encodedAmounts() {
		n, ok := parseAmount(a.Amount)
		in := &input{rest: appendAmount(nil, n)}
		if got := in.amount(); !ok || in.err != nil || len(in.rest) > 0 || got.String() != a.Amount {
			t.Errorf("%s: got %s, %v", a.Amount, got, in.err)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for _, tt := range []struct {
		advice  string
		payable bool
		want    Level
	}{
		{site.AdviceGood, true, LevelGood}, {site.AdviceCaution, true, LevelCaution},
		{site.AdviceGood, false, LevelUnknown}, {site.AdviceCaution, false, LevelUnknown},
		{site.AdviceUnknown, true, LevelUnknown}, {site.AdviceDoNotPay, false, LevelDanger},
		{site.AdviceDoNotPay, true, LevelDanger}, {"", true, LevelUnknown},
	} {
		if got := LevelOf(tt.advice, tt.payable); got != tt.want {
			t.Errorf("%s, payable %t: got %d, want %d", tt.advice, tt.payable, got, tt.want)
		}
	}
}

// TestWorstCounts checks that the order of calls does not matter, and that the worst level of a URL counts.
func TestWorstCounts(t *testing.T) {
	add := []func(*Writer){
		func(w *Writer) { w.Add("https://a.test/x", LevelGood, []Option{{base, usdc, payTo, "5"}}) },
		func(w *Writer) { w.Add("https://a.test/x", LevelDanger, []Option{{base, usdc, payTo, "3"}}) },
		func(w *Writer) { w.Add("https://a.test/x", LevelUnknown, nil) },
		func(w *Writer) { w.Add("https://b.test/x", LevelCaution, nil) },
	}
	var files [][]byte
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}} {
		var w Writer
		for _, i := range order {
			add[i](&w)
		}
		data, err := w.Encode(builtAt)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("the order of calls changes the file")
	}
	if r := find(t, files[0], "https://a.test/x"); r == nil || r.level != LevelDanger {
		t.Errorf("got %+v, want danger", r)
	}
}

// TestDamage changes each byte of a bucket, and cuts the header anywhere.
func TestDamage(t *testing.T) {
	data := sampleFile(t)
	normal := "https://api.acme.test/quote"
	h, err := ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	at, size := h.Bucket(normal)
	for i := range size {
		changed := bytes.Clone(data[at : at+size])
		changed[i] ^= 0x40
		if _, err := h.Find(changed, normal); !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d: got %v", i, err)
		}
	}
	for i := range HeaderSize {
		if _, err := ParseHeader(data[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: got %v", i, err)
		}
	}
}

// FuzzFind reads buckets whose sums are right, and whose records are not.
func FuzzFind(f *testing.F) {
	data := sampleFile(f)
	normal := "https://api.acme.test/quote"
	h, err := ParseHeader(data)
	if err != nil {
		f.Fatal(err)
	}
	at, size := h.Bucket(normal)
	f.Add(data[at : at+size])
	f.Fuzz(func(t *testing.T, bucket []byte) {
		if len(bucket) > maxBucket {
			return
		}
		var forged Header
		forged.setSum(bucket, normal)
		r, err := forged.Find(bucket, normal)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		if r != nil {
			Judge(r, Requirement{base, usdc, payTo, "1"}, builtAt, builtAt, hour)
		}
	})
}

func TestFalseAnswers(t *testing.T) {
	if got := FalseAnswers(20_000, 400); got.Cmp(big.NewRat(1, 1_000_000_000)) >= 0 {
		t.Errorf("got %s, want less than 1e-9", got.FloatString(12))
	}
}

func (h *Header) setSum(bucket []byte, normal string) {
	n := sha256.Sum256([]byte(hostOf(normal)))[0]
	h.sums[n], h.lengths[n] = sha256.Sum256(bucket), uint32(len(bucket))
}
