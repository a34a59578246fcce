package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/rows"
)

// The columns of tables in the order in which their rows are filled.
const (
	serviceColumns = "id slug name description base_url website_url category " +
		"source created_at verified_at check_interval"
	stateColumns = "service_id newest_check_at next_check_at last_checked_at last_status " +
		"last_success_at consecutive_failures failing_since"
	dayColumns = "service_id day checks counted up timed response_ms histogram known_ms up_ms"
)

// gather lists what each service has of something.
func gather[T any](list []Service, of func(*Service) []T) []T {
	var all []T
	for i := range list {
		all = append(all, of(&list[i])...)
	}
	return all
}

func loadServices(ctx context.Context, tx pgx.Tx, list []Service) (n int64, err error) {
	endpoints := gather(list, func(s *Service) []postgres.Endpoint { return s.Endpoints })
	envelopes := gather(list, func(s *Service) []checks.Envelope { return s.Envelopes })
	answers := gather(list, func(s *Service) []checks.Response { return s.Answers })
	prices := gather(list, func(s *Service) []checks.Price { return s.Prices })
	var sites []*Service
	var domains []postgres.DomainFacts
	type numbered struct {
		id int64
		checks.Change
	}
	var changes []numbered
	for i := range list {
		s := &list[i]
		if len(s.Changes) > loadedChanges {
			return 0, fmt.Errorf("%s has %d changes, more than %d", s.Slug, len(s.Changes), loadedChanges)
		}
		for n, c := range s.Changes {
			changes = append(changes, numbered{s.ID*loadedChanges + int64(n), c})
		}
		if s.Site != nil {
			sites = append(sites, s)
		}
		if s.Domain != nil {
			domains = append(domains, *s.Domain)
		}
	}
	for _, copied := range []func() error{
		func() error {
			return rows.Copy(ctx, tx, "services", serviceColumns, list, func(row []any, s *Service) {
				rows.Put(row, s.ID, s.Slug, s.Name, s.Description, s.BaseURL, s.WebsiteURL, s.Category, s.Source,
					s.CreatedAt, s.VerifiedAt, s.CheckInterval)
			})
		},
		func() error {
			return rows.Copy(ctx, tx, "service_states", stateColumns, list, func(row []any, s *Service) {
				newest := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
				if s.LastCheckedAt != nil {
					newest = pgtype.Timestamptz{Time: *s.LastCheckedAt, Valid: true}
				}
				rows.Put(row, s.ID, newest, s.NextCheckAt, s.LastCheckedAt, s.LastStatus, s.LastSuccessAt,
					s.ConsecutiveFailures, s.FailingSince)
			})
		},
		func() error { return rows.CopyStructs(ctx, tx, "endpoints", endpoints) },
		func() error { return rows.CopyStructs(ctx, tx, "envelopes", envelopes) },
		func() error { return rows.CopyStructs(ctx, tx, "responses", answers) },
		func() error { return rows.CopyStructs(ctx, tx, "prices", prices) },
		func() error {
			return rows.Copy(ctx, tx, "changes", "id service_id type observed_at summary old_snapshot new_snapshot",
				changes, func(row []any, c *numbered) {
					rows.Put(row, c.id, c.ServiceID, c.Type, c.ObservedAt, c.Summary, c.OldSnapshot, c.NewSnapshot)
				})
		},
		func() error {
			return rows.Copy(ctx, tx, "site_facts",
				"service_id next_at checked_at homepage openapi pricing llms_txt robots terms domain", sites,
				func(row []any, s **Service) {
					f := (*s).Site
					rows.Put(row, (*s).ID, f.CheckedAt.AddDate(0, 0, 1), f.CheckedAt, f.Homepage, f.OpenAPI, f.Pricing,
						f.LLMsTxt, f.Robots, f.Terms, f.Domain)
				})
		},
		func() error {
			return rows.Copy(ctx, tx, "domain_facts", "domain next_at suffix checked_at registrar created_at", domains,
				func(row []any, d *postgres.DomainFacts) {
					rows.Put(row, d.Domain, d.CheckedAt.AddDate(0, 0, 7), d.Suffix, d.CheckedAt, d.Registrar,
						d.CreatedAt)
				})
		},
	} {
		if err := copied(); err != nil {
			return 0, err
		}
	}
	return int64(2*len(list) + len(endpoints) + len(envelopes) + len(answers) + len(prices) + len(changes) +
		len(sites) + len(domains)), nil
}

// loadChecks writes days, and the checks after them.
func (l *Loader) loadChecks(ctx context.Context, tx pgx.Tx, list []Service) (n int64, err error) {
	all := gather(list, func(s *Service) []checks.Check { return s.Checks })
	for i := range all {
		if all[i].CheckedAt.Before(l.since) {
			return 0, fmt.Errorf("check %s is from before %s", all[i].ID, l.since.Format(time.DateOnly))
		}
	}
	days := gather(list, func(s *Service) []checks.Rollup { return s.Days })
	err = rows.Copy(ctx, tx, "check_days", dayColumns, days, func(row []any, d *checks.Rollup) {
		rows.Put(row, d.ServiceID, d.Start, d.Checks, d.Counted, d.Up, d.Timed, d.ResponseMS, d.Histogram, d.KnownMS,
			d.UpMS)
	})
	if err != nil {
		return 0, err
	}
	return int64(len(days) + len(all)), rows.CopyStructs(ctx, tx, "checks", all)
}
