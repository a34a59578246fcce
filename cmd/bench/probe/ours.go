package probe

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// round is the report of our process about a round.
type round struct {
	Online       int
	Seconds, CPU float64
	Memory       float64 // maximum resident memory, in MB
}

// public is the address of all names: one that the guard accepts.
var public = netip.MustParseAddr("93.184.215.14")

// names resolves every name to public.
type names struct{}

func (names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{public}, nil
}

// ours lists the services, then does a round for each line on stdin.
func ours(ctx context.Context, o options) error {
	debug.SetGCPercent(crawl.GCPercent)
	db, err := postgres.Open(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := list(ctx, db, o.services); err != nil {
		return err
	}
	guard := &probe.Guard{Resolver: names{}, Connect: func(ctx context.Context, network string,
		_ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, os.Getenv("TARGET"))
	}}
	c := crawl.New(db, crawl.Options{Workers: o.senders, HostGap: time.Nanosecond}, probe.Options{Guard: guard})
	defer c.Close()
	stop, err := harness.Profile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	orders := bufio.NewScanner(os.Stdin)
	for first := true; orders.Scan(); first = false {
		if !first {
			c.Close() // closes connections, as fifteen minutes without use would; the crawler stays usable
			if err := sql(ctx, `UPDATE service_states SET next_check_at = now() - interval '1 minute'`,
				`VACUUM ANALYZE`); err != nil {
				return err
			}
		}
		before, began := usage.Self(), time.Now()
		report, err := c.Round(ctx)
		if err != nil {
			return err
		}
		r := round{Online: report.Online, Seconds: time.Since(began).Seconds(), CPU: usage.Self() - before}
		if r.Memory, err = usage.Memory(os.Getpid(), "VmHWM"); err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// list lists services whose HEAD was already sent today.
func list(ctx context.Context, db *postgres.DB, n int) error {
	now := time.Now().Add(-time.Minute)
	listings := make([]postgres.Listing, n)
	for i := range listings {
		name := fmt.Sprintf("service-%06d", i)
		listings[i] = postgres.Listing{
			Slug: name, Name: name, Description: "The last price of a share.",
			BaseURL: "https://" + name + "." + domain, Category: "Finance", Source: "submitted",
			CreatedAt: now, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/quote"}},
		}
	}
	if err := db.AddListings(ctx, listings); err != nil {
		return err
	}
	return sql(ctx, `UPDATE endpoints SET head_at = now()`, `VACUUM ANALYZE`)
}

func sql(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	for _, s := range statements {
		if _, failed := conn.Exec(ctx, s); failed != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", s, failed))
		}
	}
	return cmp.Or(err, conn.Close(ctx))
}
