package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
)

// readAgainNetwork is a network with a node that lies and an honest one.
type readAgainNetwork struct {
	id, settler, token string
	liar, honest       http.Handler
	forget             func()    // makes the honest node lose its oldest blocks
	from               time.Time // the first day of the history
	recipients         []string
}

// lieAboutLogs answers as a node of an EVM chain, but leaves out every fourth transaction and changes the amounts of
// others, in logs and receipts alike.
func lieAboutLogs(honest http.Handler) http.Handler {
	lie := func(log map[string]any) bool {
		hash := log["transactionHash"].(string)
		switch hash[len(hash)-1] % 4 {
		case 0:
			return false
		case 1:
			if log["data"] != "0x" {
				log["data"] = "0x" + strings.Repeat("0", 63) + "7"
			}
		}
		return true
	}
	return rewriteResults(honest, func(result any) any {
		logs, ok := result.([]any)
		if receipt, is := result.(map[string]any); is && receipt["logs"] != nil {
			logs, ok = receipt["logs"].([]any)
		}
		if !ok {
			return result
		}
		logs = slices.DeleteFunc(logs, func(one any) bool { return !lie(one.(map[string]any)) })
		if receipt, is := result.(map[string]any); is {
			receipt["logs"] = logs
			return receipt
		}
		return logs
	})
}

// rewriteResults changes the results of a node of an EVM chain.
func rewriteResults(honest http.Handler, change func(result any) any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := httptest.NewRecorder()
		honest.ServeHTTP(record, r)
		var answer any
		if err := json.Unmarshal(record.Body.Bytes(), &answer); err != nil {
			panic(err)
		}
		if list, batch := answer.([]any); batch {
			for _, one := range list {
				one := one.(map[string]any)
				one["result"] = change(one["result"])
			}
		} else {
			one := answer.(map[string]any)
			one["result"] = change(one["result"])
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
}

func readAgainNetworks() []readAgainNetwork {
	base := chaintest.New(8453, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))
	base.Finality = 10
	onBase := account(0xa0, 1)
	growChain(base, onBase, 160)

	solana, onSolana := chaintest.SolanaHistory(60)
	honestSolana := chaintest.NewSolana(solana)
	lies, _ := chaintest.SolanaHistory(60)
	for i := range lies[:58] {
		if e := &lies[i]; i%4 == 0 {
			e.Result = json.RawMessage(strings.ReplaceAll(string(e.Result), `"amount":"`, `"amount":"7`))
		} else if i%4 == 1 { // another slot and time
			e.Result = json.RawMessage(strings.ReplaceAll(strings.ReplaceAll(string(e.Result),
				fmt.Sprintf(`"slot":%d`, e.Slot), fmt.Sprintf(`"slot":%d`, e.Slot-1)),
				fmt.Sprintf(`"blockTime":%d`, e.Time), fmt.Sprintf(`"blockTime":%d`, e.Time-1)))
			e.Slot, e.Time = e.Slot-1, e.Time-1
		}
	}
	lies = slices.Delete(lies, 20, 30)

	stellar, onStellar := chaintest.StellarHistory(60)
	lines, _ := chaintest.StellarHistory(60)
	lines[40] = chaintest.StellarTransfer(41, 7_000_000)
	for _, row := range lines[10:20] { // a month before
		at, err := time.Parse(time.RFC3339, row["created_at"].(string))
		if err != nil {
			panic(err)
		}
		row["created_at"] = at.AddDate(0, 0, -1).Format(time.RFC3339)
	}
	for _, row := range lines[:10] {
		row["created_at"] = lines[10]["created_at"]
	}
	lines = slices.Delete(lines, 25, 32)

	payments := chaintest.XRPLHistory(60)
	for _, row := range payments[30:40] {
		if amount, ok := row["meta"].(map[string]any)["delivered_amount"].(map[string]any); ok {
			amount["value"] = "7000"
		}
	}
	payments = slices.Delete(payments, 12, 20)

	var pruned atomic.Bool // the first blocks of the honest node of Base
	honestBase := rewriteResults(base, func(result any) any {
		block, ok := result.(map[string]any)
		if number, _ := block["number"].(string); ok && pruned.Load() && len(number) == 3 {
			return nil
		}
		return result
	})
	honestStellar, honestXRPL := chaintest.NewStellar(stellar), chaintest.NewXRPL(chaintest.XRPLHistory(60))
	return []readAgainNetwork{
		{id: baseNetwork, settler: "0x" + onBase, token: "0x" + baseUSDC, liar: lieAboutLogs(base), honest: honestBase,
			from: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), forget: func() { pruned.Store(true) }},
		{id: chaintest.SolanaID, settler: onSolana, token: chaintest.SolanaUSDC, liar: chaintest.NewSolana(lies),
			honest: honestSolana, from: time.Unix(solana[0].Time, 0).UTC().Truncate(24 * time.Hour),
			forget: func() { honestSolana.Set(func(n *chaintest.Solana) { n.Pruned = 20 }) }},
		{id: chaintest.StellarID, settler: onStellar, token: chaintest.StellarUSDC, liar: chaintest.NewStellar(lines),
			honest: honestStellar, from: chaintest.StellarStart.Truncate(24 * time.Hour),
			forget: func() { honestStellar.Set(func(n *chaintest.Stellar) { n.Elder = 61_000_010 }) }},
		{id: chaintest.XRPLID, settler: fmt.Sprintf("source_tag:%d", chaintest.XRPLTag), token: chaintest.XRPLRLUSD,
			liar: chaintest.NewXRPL(payments), honest: honestXRPL, from: chaintest.XRPLStart.Truncate(24 * time.Hour),
			recipients: chaintest.XRPLRecipients,
			forget:     func() { honestXRPL.Set(func(n *chaintest.XRPL) { n.First = 100_000_010 }) }},
	}
}

// directory returns an empty directory that knows the settler and the recipients.
func (n *readAgainNetwork) directory(t *testing.T) *memory {
	t.Helper()
	m := open(t)
	if _, err := m.ImportFacilitators(t.Context(), []ledger.Facilitator{{ID: "acme", Name: "Acme",
		WebsiteURL: "https://acme.test", UpstreamStatus: "merged", Settlers: []ledger.Settler{
			{Network: n.id, Address: n.settler, Tokens: []string{n.token}}}}}); err != nil {
		t.Fatal(err)
	}
	if len(n.recipients) == 0 {
		return m
	}
	now := time.Now()
	m.list(t, postgres.Listing{Slug: "shop", Name: "Shop", BaseURL: "https://shop.test", Category: "AI",
		Source: "imported:file", CreatedAt: now, Endpoints: []postgres.ListedEndpoint{{Path: "/", Method: "GET"}}})
	due, err := m.TakeServices(t.Context(), "", now, time.Minute, 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d services are due, error %v", len(due), err)
	}
	e := checks.EndpointVisit{ID: due[0].Endpoints[0].ID, ProbedAt: now, Class: "c", PricesChanged: true}
	for i, a := range n.recipients {
		e.Prices = append(e.Prices, checks.Price{EndpointID: e.ID, Since: now, Position: i, Amount: "1", PayTo: a,
			NetworkCAIP2: &n.id})
	}
	if err := m.RecordVisits(t.Context(), []checks.Visit{{Check: checks.Check{ServiceID: due[0].ID, CheckedAt: now,
		ID: uuid.New(), Counted: true}, NextCheckAt: now.Add(time.Hour), Endpoints: []checks.EndpointVisit{e}}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (n *readAgainNetwork) config(t *testing.T, h http.Handler) chain.Network {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return chain.Network{ID: n.id, RPC: []string{server.URL}}
}

// dying ends a context at a request.
type dying struct {
	left atomic.Int64
	kill func()
}

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.left.Add(-1) == 0 {
		d.kill()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestReadAgain indexes each kind of chain from a node that lies, then reads it again from an honest one: every row is
// then that of an index that never asked the liar. A kill at any request before leaves everything as it was, nobody
// reads a state between the two, and a second time changes nothing.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	for _, n := range readAgainNetworks() {
		t.Run(n.id, func(t *testing.T) {
			t.Parallel()
			options := chain.Options{Backoff: 100 * time.Microsecond}
			index := func(m *memory, node chain.Network) {
				t.Helper()
				x, err := NewIndexer(m.DB, []chain.Network{node}, options)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := x.Once(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			honest := n.config(t, n.honest)
			truth, m := n.directory(t), n.directory(t)
			index(truth, honest)
			index(m, n.config(t, n.liar))
			want, before := truth.indexed(t), m.indexed(t)
			if cmp.Equal(want, before) {
				t.Fatal("the liar told the truth")
			}

			for request := range int64(40) { // fewer requests are enough on some chains
				ctx, kill := context.WithCancel(t.Context())
				d := &dying{kill: kill}
				d.left.Store(request + 1)
				o := options
				o.HTTP = &http.Client{Transport: d}
				_, err := ReadAgain(ctx, m.DB, honest, n.from, o)
				kill()
				if !errors.Is(err, context.Canceled) {
					if d.left.Load() <= 0 {
						t.Fatalf("killed at request %d: %v", request+1, err)
					}
					break
				}
				if request%7 == 0 {
					if diff := cmp.Diff(before, m.indexed(t)); diff != "" {
						t.Fatalf("killed at request %d (-before +after):\n%s", request+1, diff)
					}
				}
			}
			if !cmp.Equal(want, m.indexed(t)) { // else the last try was not killed
				if diff := cmp.Diff(before, m.indexed(t)); diff != "" {
					t.Fatalf("after kills (-before +after):\n%s", diff)
				}
			}

			m = n.directory(t)
			index(m, n.config(t, n.liar))
			var readers sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			states := map[string]bool{}
			reader, err := postgres.Open(t.Context(), m.conn.Config().ConnString())
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			readers.Go(func() {
				for first := true; first || ctx.Err() == nil; first = false {
					if err := reader.Read(t.Context(), func(r *postgres.Reader) error {
						facts, err := r.Facts(t.Context(), n.from.AddDate(0, 0, 3), 0)
						if err != nil {
							return err
						}
						states[fmt.Sprintf("%+v", facts.Facilitators[0].Tokens)] = true
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
			report, err := ReadAgain(t.Context(), m.DB, honest, n.from, options)
			stop()
			readers.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, m.indexed(t)); diff != "" {
				t.Errorf("read again (-truth +got):\n%s", diff)
			}
			if len(states) > 2 {
				t.Errorf("a build would see %d states", len(states))
			}
			if report.Added == 0 || report.Removed == 0 || report.Changed == 0 || len(report.Days) == 0 ||
				report.After-report.Before != report.Added-report.Removed || len(report.Tokens) != 1 {
				t.Errorf("the report %+v", report)
			}
			again, err := ReadAgain(t.Context(), m.DB, honest, n.from, options)
			if err != nil || again.Added+again.Removed != 0 || again.Before != report.After {
				t.Errorf("a second time: %+v, error %v", again, err)
			}
			index(m, honest) // goes on where it was
			if diff := cmp.Diff(want, m.indexed(t)); diff != "" {
				t.Errorf("indexed after it (-truth +got):\n%s", diff)
			}

			n.forget()
			if _, err := ReadAgain(t.Context(), m.DB, honest, n.from, options); !errors.Is(err, ledger.ErrForgotten) {
				t.Errorf("nodes without the first blocks: %v", err)
			}
			if diff := cmp.Diff(want, m.indexed(t)); diff != "" {
				t.Errorf("nodes without the first blocks (-truth +got):\n%s", diff)
			}
		})
	}
}
