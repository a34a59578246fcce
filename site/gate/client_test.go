package gate

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	key    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public = key.Public().(ed25519.PublicKey)
)

// madeDirectory is a directory whose answers a test may change.
type madeDirectory struct {
	file       []byte
	checkpoint map[string]any
	noRange    bool
	down       atomic.Bool
	requests   atomic.Int64
}

// before is what lies before the file in the zip.
var before = strings.Repeat("z", 1000)

func newMadeDirectory(t *testing.T, generation int) (*madeDirectory, string) {
	t.Helper()
	d := &madeDirectory{file: sampleFile(t)}
	d.sign(generation)
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return d, server.URL
}

func (d *madeDirectory) sign(generation int) { d.signAs("20261130T040000Z-abcdef", generation, key) }

func (d *madeDirectory) signAs(id string, generation int, with ed25519.PrivateKey) {
	sum := sha256.Sum256(d.file[:HeaderSize])
	text := fmt.Sprintf("tollbook gate\n%s\n%d\n%d\n%d\n%s\n", id, generation, len(before), len(d.file),
		hex.EncodeToString(sum[:]))
	d.checkpoint = map[string]any{"snapshot": id, "generation": generation,
		"gate":           map[string]any{"at": len(before), "size": len(d.file), "sha256": hex.EncodeToString(sum[:])},
		"gate_signature": base64.StdEncoding.EncodeToString(ed25519.Sign(with, []byte(text)))}
}

func (d *madeDirectory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.requests.Add(1)
	if d.down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/checkpoint.json":
		_ = json.NewEncoder(w).Encode(d.checkpoint)
	case "/snapshots/20261130T040000Z-abcdef.zip":
		if d.noRange {
			r.Header.Del("Range")
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(append([]byte(before), d.file...)))
	case "/data/gate.bin":
		_, _ = w.Write(d.file)
	default:
		http.NotFound(w, r)
	}
}

var asked = Requirement{"base", usdc, payTo, "10000"}

const quote = "https://api.acme.test/quote"

func TestClient(t *testing.T) {
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	for name, tt := range map[string]struct {
		change func(*madeDirectory)
		o      Options
		want   string // a verdict, or a part of the error
	}{
		"signed":        {want: Match},
		"without parts": {change: func(d *madeDirectory) { d.noRange = true }, want: Match},
		"not verified":  {change: func(d *madeDirectory) { delete(d.checkpoint, "gate_signature") }, o: Options{Unverified: true}, want: Match},
		"not signed":    {change: func(d *madeDirectory) { delete(d.checkpoint, "gate_signature") }, want: "is not signed"},
		"another key":   {o: Options{Key: other}, want: "not signed with the pinned key"},
		"another place": {change: func(d *madeDirectory) { d.checkpoint["gate"].(map[string]any)["at"] = 999 }, want: "not signed with"},
		"another generation": {change: func(d *madeDirectory) { d.checkpoint["generation"] = 8 },
			want: "not signed with"},
		"a changed header": {change: func(d *madeDirectory) { d.file[100] ^= 1 }, want: "another sum"},
		"changed buckets": {change: func(d *madeDirectory) {
			for i := HeaderSize; i < len(d.file); i++ {
				d.file[i] ^= 1
			}
		}, want: "not the one that its header names"},
		"cut": {change: func(d *madeDirectory) { d.file = d.file[:HeaderSize+5] }, want: "no verdict"},
		"no gate": {change: func(d *madeDirectory) { delete(d.checkpoint, "gate") },
			want: "an older program built it"},
		"no checkpoint": {change: func(d *madeDirectory) { d.checkpoint = map[string]any{"gate": "x"} },
			want: "read checkpoint.json"},
		"down": {change: func(d *madeDirectory) { d.down.Store(true) }, want: "the answer is 503"},
	} {
		t.Run(name, func(t *testing.T) {
			d, at := newMadeDirectory(t, 7)
			if tt.change != nil {
				tt.change(d)
			}
			o := tt.o
			if o.Directory = at; o.Key == nil && !o.Unverified {
				o.Key = public
			}
			o.Now = func() time.Time { return builtAt.Add(hour) }
			c, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Check(t.Context(), asked, quote)
			if err != nil {
				if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			want := Result{Verdict: tt.want, Observed: "25000", AsOf: builtAt, Evidence: at +
				"/v1/lookup/url/ceac4abec3eefa1f1194b30569fc3fe1de218690ff8de9de4474819611176359.json"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestClientOverTime asks a directory that answers, is down, is older than before and grows too old.
func TestClientOverTime(t *testing.T) {
	d, at := newMadeDirectory(t, 7)
	now := builtAt.Add(hour)
	c, err := New(Options{Directory: at, Key: public, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	check := func(about, want string, requests int64) {
		t.Helper()
		before := d.requests.Load()
		got, err := c.Check(t.Context(), asked, quote)
		if n := d.requests.Load() - before; n != requests {
			t.Errorf("%s: %d requests, want %d", about, n, requests)
		}
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got.Verdict+got.Reason != want {
			t.Errorf("%s: got %+v, %v, want %s", about, got, err, want)
		}
	}
	check("cold", Match, 3)
	check("warm", Match, 0)
	now = now.Add(11 * time.Minute)
	check("the checkpoint is read again", Match, 2)
	d.sign(6)
	now = now.Add(11 * time.Minute)
	check("an older generation, and what was read is fresh", Match, 2)
	d.sign(7)
	now = now.Add(11 * time.Minute)
	d.down.Store(true)
	check("down", Match, 1)
	now = now.Add(24 * hour)
	check("down, and too old", "the answer is 503", 1)
	d.down.Store(false)
	check("up, and too old", Unknown+ReasonStale, 2)
	now = builtAt.Add(hour).Add(48 * hour)
	d.sign(6)
	check("an older generation", "went back from generation 7 to 6", 2)
	d.sign(8)
	check("a newer one", Unknown+ReasonStale, 2)
}

func TestResourceThatIsNoURL(t *testing.T) {
	c, err := New(Options{Copy: sampleCopy(t), Key: public, Now: func() time.Time { return builtAt.Add(hour) }})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Check(t.Context(), asked, "not a URL")
	if want := (Result{Verdict: Unknown, Reason: ReasonUnlisted, AsOf: builtAt}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestCopy(t *testing.T) {
	d, at := newMadeDirectory(t, 7)
	text, err := json.Marshal(d.checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	now := builtAt.Add(hour)
	kept := &Copy{text, d.file}
	c, err := New(Options{Copy: kept, Key: public, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	both, err := New(Options{Copy: kept, Directory: at, Key: public, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after    time.Duration
		want     string
		requests int64
	}{{hour, Match, 0}, {25 * hour, Unknown, 3}} {
		now = builtAt.Add(step.after)
		for _, c := range []*Client{c, both} {
			if got, err := c.Check(t.Context(), asked, quote); err != nil || got.Verdict != step.want {
				t.Errorf("after %s: got %+v, %v, want %s", step.after, got, err, step.want)
			}
		}
		if got := d.requests.Load(); got != step.requests {
			t.Errorf("after %s: %d requests, want %d", step.after, got, step.requests)
		}
	}
	for name, o := range map[string]Options{
		"no key": {Copy: kept}, "a short key": {Copy: kept, Key: public[:5]}, "nothing": {Key: public},
		"no URL": {Directory: "ftp://x", Key: public}, "a cut file": {Copy: &Copy{text, d.file[:100]}, Key: public},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTransport sends a 402 through the transport, and compares what a client sees of it.
func TestTransport(t *testing.T) {
	d, at := newMadeDirectory(t, 7)
	row := func(to, amount string) string {
		return fmt.Sprintf(`{"scheme":"exact","network":"base","asset":%q,"payTo":%q,"maxAmountRequired":%q}`, usdc, to, amount)
	}
	second := func(rows ...string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"accepts":[` + strings.Join(rows, ",") + `]}`))
	}
	good := strings.Replace(row(payTo, "10000"), "maxAmountRequired", "amount", 1)
	for name, tt := range map[string]struct {
		body, header, challenge string
		unreachable             Action
		down                    bool
		wantRows                int
		wantHeader              bool
		wantError               string
	}{
		"as observed":      {body: `{"x402Version":1,"accepts":[` + row(payTo, "10000") + `]}`, wantRows: 1},
		"one of two":       {body: `{"accepts":[` + row(payTo, "10000") + `,` + row(thief, "10000") + `]}`, wantRows: 1},
		"a recipient":      {body: `{"accepts":[` + row(thief, "10000") + `]}`, wantError: "no such recipient was observed there"},
		"a price":          {body: `{"accepts":[` + row(payTo, "25001") + `]}`, wantError: "at most 25000 was observed"},
		"version 2":        {body: `{}`, header: second(good), wantHeader: true},
		"version 2, price": {body: `{}`, header: second(strings.Replace(good, "10000", "99999", 1)), wantError: "at most 25000"},
		"a good header and a bad body": {body: `{"accepts":[` + row(thief, "1") + `]}`, header: second(good),
			wantHeader: true},
		"two amounts": {body: `{"accepts":[` + strings.Replace(row(payTo, "10000"), `"scheme"`, `"amount":"99999","scheme"`, 1) +
			`]}`, wantError: "at most 25000"},
		"two recipients": {body: `{"accepts":[` + strings.Replace(row(payTo, "10000"), `"scheme"`,
			`"PAYTO":"`+thief+`","scheme"`, 1) + `]}`, wantError: `its member "PAYTO" is like payTo`},
		"two lists":        {body: `{"accepts":[` + row(payTo, "10000") + `],"Accepts":[` + row(thief, "1") + `]}`, wantRows: 1},
		"a number":         {body: `{"accepts":[` + strings.Replace(row(payTo, "1"), `"1"`, `1`, 1) + `]}`, wantError: "maxAmountRequired"},
		"no terms":         {body: `{"error":"pay"}`, wantError: "names no payment terms"},
		"another protocol": {body: `{}`, challenge: "Payment id=1", wantError: "names no payment terms"},
		"away, refuse":     {body: `{"accepts":[` + row(payTo, "10000") + `]}`, down: true, wantError: "the answer is 503"},
		"away, allow": {body: `{"accepts":[` + row(payTo, "10000") + `]}`, down: true, unreachable: Allow,
			wantRows: 1},
		"away, ask": {body: `{"accepts":[` + row(payTo, "10000") + `]}`, down: true, unreachable: Ask,
			wantError: "the answer is 503"},
	} {
		t.Run(name, func(t *testing.T) {
			d.down.Store(tt.down)
			c, err := New(Options{Directory: at, Key: public, Now: func() time.Time { return builtAt.Add(hour) }})
			if err != nil {
				t.Fatal(err)
			}
			if tt.unreachable == "" {
				tt.unreachable = Refuse
			}
			transport := &Transport{Guard: &Guard{Client: c, Unreachable: tt.unreachable}, Base: answerer(func() *http.Response {
				a := &http.Response{StatusCode: 402, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tt.body))}
				if tt.header != "" {
					a.Header.Set(termsHeader, tt.header)
				}
				if tt.challenge != "" {
					a.Header.Set(challengeHeader, tt.challenge)
				}
				return a
			})}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, quote+"?symbol=ACME", nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := transport.RoundTrip(r)
			if tt.wantError != "" {
				if err == nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tt.wantError) {
					t.Errorf("got %v, want %s", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			var terms struct{ Accepts []struct{ PayTo string } }
			body, err := io.ReadAll(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(body, &terms) // an empty body has no rows
			if len(terms.Accepts) != tt.wantRows || (got.Header.Get(termsHeader) != "") != tt.wantHeader {
				t.Errorf("got the header %q and the body %s", got.Header.Get(termsHeader), body)
			}
			for _, row := range terms.Accepts {
				if row.PayTo != payTo {
					t.Errorf("a row pays %s", row.PayTo)
				}
			}
		})
	}
}

// answerer answers each request.
type answerer func() *http.Response

func (a answerer) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }

func TestPolicy(t *testing.T) {
	c, err := New(Options{Copy: sampleCopy(t), Key: public, Now: func() time.Time { return builtAt.Add(hour) }})
	if err != nil {
		t.Fatal(err)
	}
	policy := Policy{Match: {{UpTo: "10000", Then: Allow}, {UpTo: "20000", Then: Ask}}}
	for name, tt := range map[string]struct {
		amount, answer string
		want           bool
	}{
		"below": {"10000", "", true}, "asked, yes": {"10001", "yes", true}, "asked, no": {"20000", "no", false},
		"nobody to ask": {"20000", "", false}, "above": {"20001", "yes", false},
	} {
		g := &Guard{Client: c, Policy: policy, Unreachable: Refuse}
		if tt.answer != "" {
			g.Ask = func(context.Context, Requirement, string, Result, error) bool { return tt.answer == "yes" }
		}
		if _, err := g.Check(t.Context(), Requirement{"base", usdc, payTo, tt.amount}, quote); (err == nil) != tt.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := (&Guard{Client: c}).Check(t.Context(), asked, quote); !errors.Is(err, ErrRefused) {
		t.Errorf("a guard that does not say what to do without a verdict: got %v", err)
	}
}

func sampleCopy(t testing.TB) *Copy {
	d := &madeDirectory{file: sampleFile(t)}
	d.sign(7)
	text, err := json.Marshal(d.checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &Copy{text, d.file}
}
