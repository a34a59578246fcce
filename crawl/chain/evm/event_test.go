package evm

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"tollbook/crawl/chain"
)

// TestBloom checks that an item is in a Bloom filter only if all three of its bits are set. Tests with live nodes check
// that they are the right bits.
func TestBloom(t *testing.T) {
	t.Parallel()
	a := mustAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")
	bits := bloomOf(a[:])
	var bloom [256]byte
	if bits.in(&bloom) {
		t.Error("found in an empty bloom")
	}
	for i, bit := range bits {
		if bits.in(&bloom) {
			t.Errorf("found after %d of three bits", i)
		}
		bloom[255-bit/8] |= 1 << (bit % 8)
	}
	if !bits.in(&bloom) {
		t.Error("not found")
	}
}

// TestDecimal formats numbers of any size.
func TestDecimal(t *testing.T) {
	t.Parallel()
	var most hash
	for i := range most {
		most[i] = 0xff
	}
	for _, tt := range []struct {
		in   hash
		want string
	}{
		{hash{}, "0"}, {hash{31: 7}, "7"},
		{hash{24: 0xff, 25: 0xff, 26: 0xff, 27: 0xff, 28: 0xff, 29: 0xff, 30: 0xff, 31: 0xff},
			"18446744073709551615"},
		{hash{23: 1}, "18446744073709551616"},
		{most, "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
	} {
		if got := formatDecimal(tt.in); got != tt.want {
			t.Errorf("decimal(%v) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// FuzzEvents compares the logs that are read with those of encoding/json.
func FuzzEvents(f *testing.F) {
	one := `{"address":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",` +
		`"topics":["0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"],"data":"0x",` +
		`"blockNumber":"0x1b4","transactionHash":"0x` +
		strings.Repeat("ab", 32) + `","blockHash":"0x` + strings.Repeat("cd", 32) +
		`","logIndex":"0x7","removed":false}`
	f.Add([]byte("[" + one + "]"))
	f.Add([]byte("[" + one + "," + strings.Replace(one, `"0x"`, `"0x`+strings.Repeat("00", 32)+`"`, 1) + "]"))
	f.Add([]byte(strings.Replace("["+one+"]", `"logIndex"`, `"log\u0049ndex"`, 1)))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := chain.NewScanner(data)
		got := readEvents(s, nil)
		if s.End() != nil || !json.Valid(data) {
			return
		}
		var want []map[string]any // of duplicate keys the last one counts in both
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q: read as logs, but %v", data, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%q: read %d logs, want %d", data, len(got), len(want))
		}
		for i, e := range got {
			text := map[string]any{
				"address": e.contract.String(), "transactionHash": e.transaction.String(),
				"blockHash": e.blockHash.String(),
			}
			for key, value := range text {
				if w, _ := want[i][key].(string); !strings.EqualFold(w, value.(string)) {
					t.Fatalf("%q: log %d: %s is %v, want %v", data, i, key, value, w)
				}
			}
			for key, value := range map[string]int64{"blockNumber": e.block, "logIndex": e.index} {
				w, _ := want[i][key].(string)
				if n, err := strconv.ParseInt(strings.TrimPrefix(w, "0x"), 16, 64); err != nil || n != value {
					t.Fatalf("%q: log %d: %s is %d, want %s", data, i, key, value, w)
				}
			}
		}
	})
}
