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

	"tollbook/cmd/bench/turns"
	"tollbook/cmd/bench/usage"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// round is what our process says of one.
type round struct {
	Online       int
	Seconds, CPU float64
	Memory       float64 // most that was resident, in MB
}

// public is what the names of all services resolve to: an address that the guard lets through.
var public = netip.MustParseAddr("93.184.215.14")

// names resolves every name to public.
type names struct{}

func (names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{public}, nil
}

// ours lists the services, then makes a round for each line that it is given.
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
	stop, err := turns.Profile(o.profile)
	if err != nil {
		return err
	}
	defer stop()
	orders := bufio.NewScanner(os.Stdin)
	for first := true; orders.Scan(); first = false {
		if !first {
			c.Close() // connections, as fifteen minutes would close them; the crawler can still be used
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

// list lists services whose HEAD was asked today.
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
