//go:build linux

package postgres_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
)

// traffic is what ranges of 5,000 settlements hold: twenty thousand payers and five hundred payees, who meet for so
// many settlements at a time, at twenty prices.
type traffic struct {
	meeting int
	r       *rand.Rand
	next    int
}

func (t *traffic) settlements(n int) []ledger.Settlement {
	list := make([]ledger.Settlement, n)
	var payer, payee, price int
	for i := range list {
		if i%t.meeting == 0 {
			payer, payee = t.r.IntN(20_000), t.r.IntN(500)
			price = (1 + payee%20) * 1000
		}
		block := int64(t.next / 5)
		list[i] = ledger.Settlement{
			Network: base, Block: block, BlockHash: fmt.Sprintf("0x%064x", block),
			Time:        start.Add(time.Duration(block) * 2 * time.Second),
			Transaction: fmt.Sprintf("0x%064x", t.next), LogIndex: t.next % 500, Method: "eip3009",
			Facilitator: []string{"acme", "bolt"}[payee%2], Settler: fmt.Sprintf("0x%040x", payee%40),
			Token: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", Payer: fmt.Sprintf("0x%040x", 1000+payer),
			Payee: fmt.Sprintf("0x%040x", 100_000+payee), Amount: strconv.Itoa(price),
		}
		t.next++
	}
	return list
}

const rangeSize = 5000

// BenchmarkCommitRanges commits ranges of 5,000 settlements with all their roll-ups, as an indexer does; in the worst
// case no payer meets a payee twice a day. BenchmarkCopySettlements is what the rows alone cost.
func BenchmarkCommitRanges(b *testing.B) {
	for _, meeting := range []int{1, 5, 50} {
		b.Run(fmt.Sprintf("meeting=%d", meeting), func(b *testing.B) {
			db, err := postgres.Open(b.Context(), template.Database(b))
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ImportFacilitators(b.Context(),
				[]ledger.Facilitator{facilitator("acme", "0xs"), facilitator("bolt")}); err != nil {
				b.Fatal(err)
			}
			fresh, err := db.NewSettlers(b.Context(), base)
			if err == nil {
				err = db.OpenScans(b.Context(), base, fresh, 0, start, 0)
			}
			if err != nil {
				b.Fatal(err)
			}
			scans, err := db.Scans(b.Context(), base)
			if err != nil {
				b.Fatal(err)
			}
			t := traffic{meeting: meeting, r: rand.New(rand.NewPCG(4020, 402))}
			next := int64(0)
			var client, server time.Duration
			for b.Loop() {
				b.StopTimer()
				list := t.settlements(rangeSize)
				last := list[rangeSize-1].Block
				wasServer, wasClient := serverTime(), selfTime(b)
				b.StartTimer()
				n, err := db.CommitRanges(b.Context(), ledger.Range{Scan: scans[0].ID, Network: base, First: next,
					Last: last, Hash: "0x", Time: start, Settlements: list,
					Authorizations: []ledger.AuthorizationDay{{Token: list[0].Token, Day: start,
						Authorizations: 6000}}})
				if err != nil || n != rangeSize {
					b.Fatalf("%d new, error %v", n, err)
				}
				next = last + 1
				b.StopTimer()
				client += selfTime(b) - wasClient
				server += serverTime() - wasServer
				b.StartTimer()
			}
			b.ReportMetric(float64(client.Microseconds())/float64(rangeSize)/float64(b.N), "client-cpu-µs/settlement")
			b.ReportMetric(float64(server.Microseconds())/float64(rangeSize)/float64(b.N), "server-cpu-µs/settlement")
			b.ReportMetric(float64(rangeSize)*float64(b.N)/b.Elapsed().Seconds(), "settlements/s")
		})
	}
}

func BenchmarkCopySettlements(b *testing.B) {
	conn, err := pgx.Connect(b.Context(), template.Database(b))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	t := traffic{meeting: 1, r: rand.New(rand.NewPCG(4020, 402))}
	columns := []string{"settled_at", "block", "settler_id", "payer_id", "payee_id", "token_id", "log_index",
		"chain_id",
		"transaction", "block_hash", "method", "amount"}
	var client, server time.Duration
	for b.Loop() {
		b.StopTimer()
		list := t.settlements(rangeSize)
		wasServer, wasClient := serverTime(), selfTime(b)
		b.StartTimer()
		_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"settlements"}, columns,
			pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
				s := &list[i]
				transaction, _ := hex.DecodeString(s.Transaction[2:])
				hash, _ := hex.DecodeString(s.BlockHash[2:])
				amount, _ := strconv.ParseInt(s.Amount, 10, 64)
				return []any{s.Time, s.Block, int64(i), int64(i), int64(i), int32(1), int32(s.LogIndex), int16(1),
					transaction, hash, s.Method, amount}, nil
			}))
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		client += selfTime(b) - wasClient
		server += serverTime() - wasServer
		b.StartTimer()
	}
	b.ReportMetric(float64(client.Microseconds())/float64(rangeSize)/float64(b.N), "client-cpu-µs/settlement")
	b.ReportMetric(float64(server.Microseconds())/float64(rangeSize)/float64(b.N), "server-cpu-µs/settlement")
	b.ReportMetric(float64(rangeSize)*float64(b.N)/b.Elapsed().Seconds(), "settlements/s")
}
