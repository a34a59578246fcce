package polls_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
	"tollbook/site/postgres/postgrestest"
)

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

const base = "eip155:8453"

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) (*postgres.DB, *pgx.Conn) {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, postgrestest.Connect(t, dsn)
}

// list imports a facilitator with a URL and accounts on Base.
func list(t *testing.T, db *postgres.DB, id string, settlers ...ledger.Settler) ledger.ImportReport {
	t.Helper()
	r, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{{ID: id, Name: id, WebsiteURL: "https://f.test",
		FacilitatorURL: new("https://" + id + ".test"), UpstreamStatus: "merged", Settlers: settlers}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// record stores an answer of acme that announces signers.
func record(t *testing.T, db *postgres.DB, at time.Time, signers ...polls.Signer) {
	t.Helper()
	p := polls.Poll{FacilitatorID: "acme", URL: "https://acme.test", At: at, NextAt: at.Add(time.Hour),
		Supported: polls.Response{Outcome: polls.Answered, Code: new(200), Latency: new(20 * time.Millisecond)},
		Signers:   signers}
	if err := db.RecordPoll(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, db *postgres.DB, at time.Time) polls.Facts {
	t.Helper()
	f, err := db.Polled(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPayments checks that payments of announced signers are read, unless a list names the signer.
func TestPayments(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	list(t, db, "acme", ledger.Settler{Network: base, Address: "0xlisted", Tokens: []string{"usdc"}})
	record(t, db, now, polls.Signer{Networks: "eip155:*", Address: "0xnew", Origin: "signers"},
		polls.Signer{Networks: "eip155:*", Address: "0xlisted", Origin: "signers"})
	if _, err := conn.Exec(t.Context(), `
		INSERT INTO chains (network) VALUES ('eip155:8453');
		INSERT INTO sender_days (chain_id, day, sender, token, payments, amount, recipients) VALUES
			(1, '2026-11-19', '0xnew', 'usdc', 3, 30, 2), (1, '2026-11-20', '0xnew', 'usdc', 4, 40, 1),
			(1, '2026-09-01', '0xnew', 'usdc', 9, 90, 9), (1, '2026-11-20', '0xlisted', 'usdc', 1, 1, 1),
			(1, '2026-11-20', '0xother', 'usdc', 1, 1, 1)`); err != nil {
		t.Fatal(err)
	}
	day := now.Truncate(24 * time.Hour)
	want := []polls.Payments{{Network: base, Sender: "0xnew", Token: "usdc", Payments: 7, Amount: "70", Recipients: 2,
		FirstDay: day.AddDate(0, 0, -1), LastDay: day}}
	if diff := cmp.Diff(want, read(t, db, now).Payments); diff != "" {
		t.Errorf("payments (-want +got):\n%s", diff)
	}
}

// TestRetention checks that what is no longer announced is forgotten after 90 days, and the rest of it after 4,000
// others.
func TestRetention(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	list(t, db, "acme")
	record(t, db, now, polls.Signer{Networks: "eip155:*", Address: "0xold", Origin: "signers"})
	record(t, db, now.Add(polls.Retention), polls.Signer{Networks: "eip155:*", Address: "0xnew", Origin: "signers"})
	if n := len(read(t, db, now).Facilitators[0].Signers); n != 2 {
		t.Errorf("%d signers after 90 days, want 2", n)
	}
	at := now.Add(polls.Retention + time.Minute)
	record(t, db, at)
	f := read(t, db, at).Facilitators[0]
	if len(f.Signers) != 1 || f.Signers[0].Address != "0xnew" || len(f.Days) != 1 || f.Days[0].Polls != 2 {
		t.Errorf("after 90 days and a minute: %+v in %+v, want the new signer and two polls", f.Signers, f.Days)
	}
	for round := range 3 {
		var signers []polls.Signer
		for i := range 2000 {
			signers = append(signers, polls.Signer{Networks: base, Address: fmt.Sprintf("0x%d-%d", round, i),
				Origin: "signers"})
		}
		record(t, db, at.Add(time.Duration(round)*time.Minute), signers...)
	}
	f = read(t, db, at).Facilitators[0]
	if len(f.Signers) != 4000 || f.Signers[0].Address != "0x1-0" {
		t.Errorf("%d signers, the first %s; want the newest 4,000", len(f.Signers), f.Signers[0].Address)
	}
}

// TestRecordPollOfGoneURL checks that a poll is dropped if the facilitator has another URL, or none, by now.
func TestRecordPollOfGoneURL(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	list(t, db, "acme")
	for _, p := range []polls.Poll{{FacilitatorID: "acme", URL: "https://former.test"},
		{FacilitatorID: "nobody", URL: "https://nobody.test"}} {
		p.At, p.NextAt, p.Supported = now, now.Add(time.Hour), polls.Response{Outcome: polls.Unreachable}
		if err := db.RecordPoll(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if f := read(t, db, now); len(f.Facilitators) != 0 {
		t.Errorf("polls %+v, want none", f.Facilitators)
	}
}

// TestAcceptedSettlers checks that an import keeps accounts that the operator accepted, until they are withdrawn.
func TestAcceptedSettlers(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	listed := ledger.Settler{Network: base, Address: "0xa", Tokens: []string{"usdc"}}
	accepted := ledger.Settler{Network: base, Address: "0xb", Tokens: []string{"usdc"}, Accepted: true}
	list(t, db, "acme", listed, accepted)
	stored := func() []ledger.Settler {
		t.Helper()
		all, err := db.Facilitators(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Settlers
	}
	want := ledger.ImportReport{Left: []string{"acme"}}
	if diff := cmp.Diff(want, list(t, db, "acme", listed)); diff != "" {
		t.Errorf("an import without the account (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ledger.Settler{listed, accepted}, stored()); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	named := accepted
	named.Accepted = false
	list(t, db, "acme", listed, named) // the list names it now, and then no longer
	if diff := cmp.Diff([]ledger.Settler{listed, named}, stored()); diff != "" {
		t.Errorf("accounts named by the list (-want +got):\n%s", diff)
	}
	list(t, db, "acme", listed)
	list(t, db, "acme", listed, accepted)
	for _, want := range []int{1, 0} {
		if n, err := db.WithdrawSettlers(t.Context(), "acme", []string{"0xa", "0xb"}); err != nil || n != want {
			t.Errorf("WithdrawSettlers = %d, %v, want %d", n, err, want)
		}
	}
	if diff := cmp.Diff([]ledger.Settler{listed}, stored()); diff != "" {
		t.Errorf("accounts after the withdrawal (-want +got):\n%s", diff)
	}
}
