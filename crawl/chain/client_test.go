package chain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWordings reads every wording that testdata/faults.txt has.
func TestWordings(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	count := 0
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			t.Fatalf("%q has %d parts, want 3", line, len(parts))
		}
		code, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&rpcError{code: code, message: parts[1]}).kindOf(); string(got) != parts[2] {
			t.Errorf("%s: got %s, want %s", line, got, parts[2])
		}
		count++
	}
	if err := lines.Err(); err != nil || count < 80 {
		t.Errorf("read %d wordings: %v", count, err)
	}
}

// askOnce asks for the chain's id alone.
func askOnce(ctx context.Context, o Options, addresses ...string) error {
	c, err := newClient(Network{ID: "eip155:1", RPC: addresses}, o.withDefaults())
	if err != nil {
		return err
	}
	return c.ask(ctx, question{calls: []call{{method: "eth_blockNumber", params: "[]"}}, read: func(_ int, calls []call) error {
		s := &scanner{data: calls[0].result}
		s.quantity()
		return s.end()
	}})
}

// TestKeysAreNotTold: an address may hold a key in its path, query or user; no error and no log tells it, nor is it sent on.
func TestKeysAreNotTold(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, h := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a broken one": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"another chain": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x2"}`)
		},
	} {
		s := httptest.NewServer(h)
		var log bytes.Buffer
		o := Options{Backoff: time.Microsecond, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		address := strings.Replace(s.URL, "http://", "http://user:hunter2@", 1) + "/v2/hunter2?key=hunter2"
		err := askOnce(t.Context(), o, address)
		s.Close()
		gone := askOnce(t.Context(), o, address) // nobody listens there any more
		if err == nil || gone == nil {
			t.Fatalf("%s: no error", name)
		}
		if told := err.Error() + gone.Error() + log.String(); strings.Contains(told, "hunter2") {
			t.Errorf("%s: the key is told:\n%s", name, told)
		}
	}
	if _, err := newClient(Network{ID: "eip155:1", RPC: []string{"ftp://hunter2"}}, Options{}.withDefaults()); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong address: %v", err)
	}
}

// TestRetryAfter: a node that says how long to wait is asked again only then, and another one meanwhile.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	asked := 0
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "120")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer busy.Close()
	free := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
	}))
	defer free.Close()
	c, err := newClient(Network{ID: "eip155:1", RPC: []string{busy.URL, free.URL}}, Options{Now: func() time.Time { return now }}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	q := question{calls: []call{{method: "eth_blockNumber", params: "[]"}}, read: func(int, []call) error { return nil }}
	ask := func(want int) {
		t.Helper()
		if err := c.ask(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if asked != want {
			t.Errorf("the busy node was asked %d times, want %d", asked, want)
		}
	}
	ask(1)
	now = now.Add(119 * time.Second)
	ask(1)
	c.nodes[1].fails = 9 // now the busy one would be the better
	now = now.Add(2 * time.Second)
	ask(2)

	alone, err := newClient(Network{ID: "eip155:1", RPC: []string{busy.URL}}, Options{Now: func() time.Time { return now }}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	var f *fault
	if err := alone.ask(t.Context(), q); !errors.As(err, &f) || f.kind != faultRate || f.wait != 2*time.Minute {
		t.Errorf("alone: got %v, want the fault of kind rate, to wait two minutes", err)
	}
}

// FuzzAnswers: whatever a body holds, reading it ends, takes no more than there is, and what was taken as a result is JSON that
// encoding/json reads the same.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"result":[{"address":"0x00","topics":[]}]}]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch \"too\" large"}}`,
		`[{"id":2,"result":null},{"result":{"a":[1,2.5e3,true,"\u00e9\\"]},"id":1}]`,
		`<html>`, ``, `[`, `{"id":1,"result":"`, "\xff", `[[[[`, `{"id":1,"id":2,"result":{}}`,
	} {
		f.Add([]byte(s), byte(2))
	}
	f.Fuzz(func(t *testing.T, body []byte, n byte) {
		results := make([]*[]byte, int(n)%5+1)
		for i := range results {
			results[i] = new([]byte)
		}
		refused, err := readAnswers(body, results)
		if refused != nil {
			_ = refused.kindOf()
		}
		if err != nil || refused != nil {
			return
		}
		if !json.Valid(body) {
			return // what is skipped is only balanced
		}
		var list []struct {
			ID     json.RawMessage
			Result json.RawMessage
		}
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
			err = json.Unmarshal(body, &list)
		} else {
			list = append(list, struct{ ID, Result json.RawMessage }{})
			err = json.Unmarshal(body, &list[0])
		}
		if err != nil {
			t.Fatalf("%q: read as answers, but %v", body, err)
		}
		for i, r := range results {
			if !json.Valid(*r) {
				t.Fatalf("%q: result %d is %q, no JSON", body, i+1, *r)
			}
		}
	})
}

// FuzzEvents: the logs that are read are those that encoding/json reads.
func FuzzEvents(f *testing.F) {
	one := `{"address":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","topics":["0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"],"data":"0x","blockNumber":"0x1b4","transactionHash":"0x` +
		strings.Repeat("ab", 32) + `","blockHash":"0x` + strings.Repeat("cd", 32) + `","logIndex":"0x7","removed":false}`
	f.Add([]byte("[" + one + "]"))
	f.Add([]byte("[" + one + "," + strings.Replace(one, `"0x"`, `"0x`+strings.Repeat("00", 32)+`"`, 1) + "]"))
	f.Add([]byte(strings.Replace("["+one+"]", `"logIndex"`, `"log\u0049ndex"`, 1)))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &scanner{data: data}
		got := readEvents(s, nil)
		if s.end() != nil || !json.Valid(data) {
			return
		}
		var want []map[string]any // keys that stand twice: the last counts in both
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q: read as logs, but %v", data, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%q: read %d logs, want %d", data, len(got), len(want))
		}
		for i, e := range got {
			text := map[string]any{
				"address": e.contract.String(), "transactionHash": e.transaction.String(), "blockHash": e.blockHash.String(),
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

// TestScannerReadsWhatEncodingJSONReads on what is awkward.
func TestScannerReadsWhatEncodingJSONReads(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"a"`, `"\""`, `"\\"`, `"\\\""`, `"\u00e9\n"`, `""`, ` "x" `, `"\ud83d\ude00"`} {
		var want string
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		s := &scanner{data: []byte(in)}
		if got := string(s.text()); s.end() != nil || got != want {
			t.Errorf("text of %s: %q, %v; want %q", in, got, s.err, want)
		}
		s = &scanner{data: []byte(in)}
		if got := string(s.value()); s.end() != nil || got != strings.TrimSpace(in) {
			t.Errorf("value of %s: %q, %v", in, got, s.err)
		}
	}
	for _, in := range []string{``, `"`, `"\`, `"\"`, `{`, `{"a":1,}x`, `[1,2`, `]`, `}`, `[}`, `{"a":[}]`, `1 2`, `,`, `:`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		s := &scanner{data: []byte(in)}
		s.value()
		if s.end() == nil {
			t.Errorf("value of %q: no error", in)
		}
	}
}

// TestHexIsReadAsTheStandardLibraryDoes, of every pair of bytes, in whatever surroundings.
func TestHexIsReadAsTheStandardLibraryDoes(t *testing.T) {
	t.Parallel()
	for pair := range 1 << 16 {
		digits := string([]byte{'0', 'F', byte(pair >> 8), byte(pair), '9', 'a'})
		want, err := hex.DecodeString(digits)
		var got [3]byte
		if ok := decodeHex(got[:], []byte("0x"+digits)); ok != (err == nil) || ok && !bytes.Equal(got[:], want) {
			t.Fatalf("%q: %x, %v; want %x, %v", digits, got, ok, want, err)
		}
	}
	for in, reads := range map[string]bool{
		`"0x0a0b"`: true, ` "0x0A0B" `: true, `"\u0030x0a0b"`: true, `"0x0a\u0030b"`: true,
		`"0x0a0b`: false, `"0x0a0b0"`: false, `"0x0a0"`: false, `"0x0a0b"1`: false, `"0x0a"b"`: false, `"0X0a0b"`: false, `"000a0b"`: false, `"0x"`: false, `null`: false, ``: false, `"`: false,
	} {
		var got [2]byte
		s := &scanner{data: []byte(in)}
		s.bytes(got[:])
		if err := s.end(); reads != (err == nil) || reads && got != [2]byte{0x0a, 0x0b} {
			t.Errorf("%s: %x, %v", in, got, err)
		}
	}
}

// TestBloom: an item is in a bloom when all three of its bits are. That the bits are the right ones is for live nodes to say.
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

// TestSettle holds the rules of pairing to single transactions.
func TestSettle(t *testing.T) {
	t.Parallel()
	usdc, other := mustAddress("0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"), mustAddress("0x0000000000000000000000000000000000000001")
	measured := map[address]*token{usdc: {}}
	who := func(name byte) (h hash) { h[31] = name; return h }
	used := func(contract address, by byte) event {
		return event{contract: contract, topics: [4]hash{topicAuthorizationUsed, who(by), {}}, topicCount: 3}
	}
	moved := func(contract address, from, to byte) event {
		return event{contract: contract, topics: [4]hash{topicTransfer, who(from), who(to)}, topicCount: 3, oneWord: true, amount: who(1)}
	}
	proxy := event{contract: permit2Proxies[1], topics: [4]hash{topicSettled}, topicCount: 1}
	nft := event{contract: usdc, topics: [4]hash{topicTransfer, who('a'), who('z'), who(1)}, topicCount: 4}
	for _, tt := range []struct {
		name    string
		events  []event
		want    []string // index and method
		orphans int
	}{
		{"one payment", []event{used(usdc, 'a'), moved(usdc, 'a', 'z')}, []string{"1 eip3009"}, 0},
		{"a batch", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), used(usdc, 'b'), moved(usdc, 'b', 'z')}, []string{"1 eip3009", "3 eip3009"}, 0},
		{"authorisations first, then transfers", []event{used(usdc, 'a'), used(usdc, 'b'), moved(usdc, 'a', 'z'), moved(usdc, 'b', 'z')}, []string{"2 eip3009", "3 eip3009"}, 0},
		{"a fee leg", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), moved(usdc, 'a', 'f')}, []string{"1 eip3009"}, 0},
		{"a transfer before", []event{moved(usdc, 'a', 'f'), used(usdc, 'a'), moved(usdc, 'a', 'z')}, []string{"2 eip3009"}, 0},
		{"another's transfer between", []event{used(usdc, 'a'), moved(usdc, 'b', 'f'), moved(usdc, 'a', 'z')}, []string{"2 eip3009"}, 0},
		{"another token's transfer between", []event{used(usdc, 'a'), moved(other, 'a', 'f'), moved(usdc, 'a', 'z')}, []string{"2 eip3009"}, 0},
		{"one that moved nothing, then one that did", []event{used(usdc, 'a'), used(usdc, 'a'), moved(usdc, 'a', 'z')}, []string{"2 eip3009"}, 1},
		{"none", []event{used(usdc, 'a')}, nil, 1},
		{"another token", []event{used(other, 'a'), moved(other, 'a', 'z')}, nil, 0},
		{"a transfer alone", []event{moved(usdc, 'a', 'z')}, nil, 0},
		{"a thing of its own that moved", []event{used(usdc, 'a'), nft}, nil, 1},
		{"Permit2", []event{moved(usdc, 'a', 'z'), proxy}, []string{"0 permit2"}, 0},
		{"Permit2 with a fee leg before and after", []event{moved(usdc, 'a', 'f'), moved(usdc, 'a', 'z'), proxy, moved(usdc, 'z', 'f')}, []string{"1 permit2"}, 0},
		{"Permit2 twice", []event{moved(usdc, 'a', 'z'), proxy, moved(usdc, 'b', 'z'), proxy}, []string{"0 permit2", "2 permit2"}, 0},
		{"Permit2 without a second transfer", []event{moved(usdc, 'a', 'z'), proxy, proxy}, []string{"0 permit2"}, 0},
		{"Permit2 of another token", []event{moved(usdc, 'a', 'f'), moved(other, 'a', 'z'), proxy}, nil, 0},
		{"Permit2 after an authorisation", []event{used(usdc, 'a'), moved(usdc, 'a', 'z'), proxy}, []string{"1 eip3009"}, 0},
	} {
		for i := range tt.events {
			tt.events[i].index = int64(i)
		}
		pairs, orphans := settle(tt.events, measured)
		var got []string
		for _, p := range pairs {
			got = append(got, fmt.Sprintf("%d %s", p.transfer.index, p.method))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || orphans != tt.orphans {
			t.Errorf("%s: %d orphans, want %d; pairs (-want +got):\n%s", tt.name, orphans, tt.orphans, diff)
		}
	}
}

// TestSpan: ranges grow while answers are small, halve when one is too wide, and try again later.
func TestSpan(t *testing.T) {
	t.Parallel()
	s := newSpan()
	for range 50 {
		s.fits(s.at(), 0)
	}
	if s.at() != widestRange {
		t.Errorf("after many empty ranges: %d blocks, want %d", s.at(), widestRange)
	}
	for s.at() > 100 {
		s.tooWide(s.at())
	}
	small := s.at()
	for range patience - 1 {
		s.fits(s.at(), 0)
	}
	if s.at() != small {
		t.Errorf("grew from %d to %d at once", small, s.at())
	}
	for range 3 {
		s.fits(s.at(), 0)
	}
	if s.at() <= small {
		t.Errorf("never grew from %d", small)
	}
	for range 100 {
		s.tooWide(s.at())
	}
	if s.at() != 1 {
		t.Errorf("%d blocks after many faults, want 1", s.at())
	}
	s = newSpan()
	s.fits(firstWidth, 4*wantEvents)
	if s.at() != firstWidth/4 {
		t.Errorf("%d blocks after a dense range, want %d", s.at(), firstWidth/4)
	}
}

// TestDecimal writes numbers of any size.
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
		{hash{}, "0"}, {hash{31: 7}, "7"}, {hash{24: 0xff, 25: 0xff, 26: 0xff, 27: 0xff, 28: 0xff, 29: 0xff, 30: 0xff, 31: 0xff}, "18446744073709551615"},
		{hash{23: 1}, "18446744073709551616"}, {most, "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
	} {
		if got := decimal(tt.in); got != tt.want {
			t.Errorf("decimal(%v) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// TestTogetherStaysWhole: a question whose answers are read together is never cut, however often its node fails; one of
// independent calls is.
func TestTogetherStaysWhole(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{true, false} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if asked++; asked == 2 || asked == 3 { // the first asks which chain it is
				fmt.Fprint(w, strings.Repeat("[", 100))
				return
			}
			var all []json.RawMessage
			if json.Unmarshal(body, &all) != nil {
				all = []json.RawMessage{body}
			}
			for i, call := range all {
				var c struct{ ID int64 }
				_ = json.Unmarshal(call, &c)
				all[i] = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"0x1"}`, c.ID)
			}
			_ = json.NewEncoder(w).Encode(all)
		}))
		defer server.Close()
		c, err := newClient(Network{ID: "eip155:1", RPC: []string{server.URL}}, Options{Logger: slog.New(slog.DiscardHandler)}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		var read []int
		err = c.ask(t.Context(), question{calls: []call{blockCall(1, false), blockCall(2, false)}, together: together, read: func(_ int, calls []call) error {
			read = append(read, len(calls))
			return nil
		}})
		want := map[bool][]int{true: {2}, false: {1, 1}}[together]
		if diff := cmp.Diff(want, read); diff != "" || err != nil {
			t.Errorf("together %v: %v (-want +got):\n%s", together, err, diff)
		}
	}
}
