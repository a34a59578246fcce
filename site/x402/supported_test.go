package x402

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	base   = "eip155:8453"
	solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	usdc   = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"
	one    = "0x1111111111111111111111111111111111111111"
	two    = "0x2222222222222222222222222222222222222222"
	payer  = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd"
)

func TestReadSupported(t *testing.T) {
	for _, tc := range []struct {
		name, doc string
		want      Supported
	}{
		{"version 1 with short names", `{"kinds": [
			{"x402Version": 1, "scheme": "exact", "network": "base"},
			{"x402Version": 1, "scheme": "exact", "network": "solana", "extra": {"feePayer": "` + payer + `"}}]}`,
			Supported{Kinds: []supportedKind{{1, "exact", base, ""}, {1, "exact", solana, ""}},
				Signers: []SupportedSigner{{solana, payer, OriginFeePayer}}}},
		{"version 2 with signers of a namespace and of a network", `{
			"kinds": [{"x402Version": 2, "scheme": "upto", "network": "eip155:8453",
					"extra": {"facilitatorAddress": "` + two + `"}},
				{"x402Version": 2, "scheme": "exact", "network": "eip155:8453", "extra": null}],
			"extensions": ["bazaar", {"key": "builder-code"}, "bazaar"],
			"signers": {"eip155:*": ["` + strings.ToUpper(one[2:10]) + `"], "eip155:8453": ["0x` + one[2:] + `"]}}`,
			Supported{Kinds: []supportedKind{{2, "exact", base, ""}, {2, "upto", base, ""}},
				Extensions: []string{"bazaar", "builder-code"}, Skipped: 1,
				Signers: []SupportedSigner{{base, one, originSigners}, {base, two, OriginFacilitatorAddress}}}},
		{"assets", `{"kinds": [{"x402Version": "2", "scheme": "exact", "network": "eip155:8453",
			"extra": {"defaultAsset": {"address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"},
				"supportedAssets": [{"address": "` + usdc + `"}, {"address": "USDC!"}]}}]}`,
			Supported{Kinds: []supportedKind{{2, "exact", base, usdc}}, Skipped: 1}},
		{"entries without a valid form", `{"kinds": [7, {}, {"x402Version": 9, "scheme": "exact", "network": "base"},
			{"x402Version": 1, "scheme": "<b>", "network": "base"}, {"x402Version": 1, "scheme": "exact",
			"network": "a b"}], "extensions": "bazaar", "signers": [1]}`,
			Supported{Skipped: 5}},
		{"accounts that nobody can sign with", `{"kinds": [], "signers": {
			"eip155:*": ["0x0000000000000000000000000000000000000000", "` + usdc + `", "0x12", 5],
			"EIP 155": ["` + one + `"], "solana:*": ["11111111111111111111111111111111"]}}`,
			Supported{Skipped: 6}},
		{"a network of no table", `{"kinds": [{"x402Version": 1, "scheme": "exact", "network": "Moonbase-9"}]}`,
			Supported{Kinds: []supportedKind{{1, "exact", "Moonbase-9", ""}}}},
	} {
		got, err := ReadSupported([]byte(tc.doc))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestReadRefuses checks that an answer is refused as a whole if it is not one, or exceeds a limit.
func TestReadRefuses(t *testing.T) {
	kind := `{"x402Version":1,"scheme":"exact","network":"base"}`
	var signers []string
	for i := range maxSigners + 1 {
		signers = append(signers, fmt.Sprintf(`"0x%040x"`, i+1000))
	}
	var extensions []string
	for i := range maxExtensions + 1 {
		extensions = append(extensions, fmt.Sprintf(`"x%d"`, i))
	}
	var assets []string
	for i := range maxAssets {
		assets = append(assets, fmt.Sprintf(`"0x%040x"`, i+1000))
	}
	many := strings.Replace(kind, `}`, `,"extra":{"assets":[`+strings.Join(assets, ",")+`]}}`, 1)
	for _, tc := range []struct {
		name, doc string
		want      error
	}{
		{"nothing", ``, errSupportedShape},
		{"a page", `<html>`, errSupportedShape},
		{"a list", `[]`, errSupportedShape},
		{"null", `null`, errSupportedShape},
		{"no kinds", `{"signers": {}}`, errSupportedShape},
		{"kinds that are no list", `{"kinds": {"a": 1}}`, errSupportedShape},
		{"deep nesting", `{"kinds":` + strings.Repeat("[", 100_000), errSupportedShape},
		{"10 MB", `{"kinds": [], "pad": "` + strings.Repeat("x", 10<<20) + `"}`, ErrLarge},
		{"too many kinds", `{"kinds": [` + strings.Repeat("{},", maxKinds) + `{}]}`, ErrLarge},
		{"a million kinds", `{"kinds": [` + strings.Repeat("1,", 400_000) + `1]}`, ErrLarge},
		{"too many kinds with their assets", `{"kinds": [` + strings.Repeat(many+",", 20) + many + `]}`, ErrLarge},
		{"too many signers", `{"kinds": [], "signers": {"eip155:*": [` + strings.Join(signers, ",") + `]}}`, ErrLarge},
		{"too many extensions", `{"kinds": [], "extensions": [` + strings.Join(extensions, ",") + `]}`, ErrLarge},
	} {
		if a, err := ReadSupported([]byte(tc.doc)); !errors.Is(err, tc.want) || len(a.Kinds) > 0 {
			t.Errorf("%s: Read = %d kinds, %v, want %v", tc.name, len(a.Kinds), err, tc.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		networks, network string
		want              bool
	}{
		{"eip155:*", base, true}, {base, base, true}, {"eip155:137", base, false}, {"solana:*", base, false},
		{"eip:*", base, false},
	} {
		if got := (SupportedSigner{Networks: tc.networks}).Covers(tc.network); got != tc.want {
			t.Errorf("a signer on %s covers %s: %v, want %v", tc.networks, tc.network, got, tc.want)
		}
	}
}

// FuzzReadSupported checks that any bytes give an answer within the limits, and that reading it twice gives the same.
func FuzzReadSupported(f *testing.F) {
	f.Add([]byte(`{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453","extra":{"asset":"` + usdc +
		`","feePayer":"x"}}],"extensions":["a"],"signers":{"eip155:*":["` + one + `"]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		a, err := ReadSupported(doc)
		if err != nil && !errors.Is(err, errSupportedShape) && !errors.Is(err, ErrLarge) {
			t.Errorf("Read(%q) = %v, want ErrShape or ErrLarge", doc, err)
		}
		if len(a.Kinds) > maxKinds || len(a.Signers) > maxSigners || len(a.Extensions) > maxExtensions {
			t.Errorf("an answer beyond the limits: %d kinds, %d signers", len(a.Kinds), len(a.Signers))
		}
		for _, s := range a.Signers {
			if len(s.Address) > maxSupportedText || strings.ContainsAny(s.Address, "\x00\n") {
				t.Errorf("signer %q", s.Address)
			}
		}
		again, _ := ReadSupported(bytes.Clone(doc))
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("the second reading differs:\n%s", diff)
		}
	})
}
