// This file reads to which hosts listed services moved.
//
// A host moved if an endpoint's newest response with payment terms came from another host of the same registrable
// domain, after permanent redirects that kept path and query. Our own probe observed that; sources have no say. The
// new host belongs to the service of the old one, unless another service is listed at the new host, or two hosts moved
// there. Package moves must never store anything.

package sources

import (
	"context"
	"fmt"

	"tollbook/site/postgres/rows"
)

const (
	hostOf = `lower(split_part(split_part(base_url, '://', 2), '/', 1))`
	pathOf = `substr(split_part(base_url, '://', 2), length(split_part(split_part(base_url, '://', 2), '/', 1)) + 1)`
)

// MovesTable is a subquery in SQL, named moves, of the services whose endpoints moved. Its columns are id, the new
// host in canonical form, the old host, and the path of the base URL, which is the same at both.
const MovesTable = `(
		WITH moved AS MATERIALIZED (
			SELECT DISTINCT s.id, exchange->>'moved_host' AS host, ` + hostOf + ` AS old_host, ` + pathOf + ` AS path
			FROM envelopes v JOIN endpoints e ON e.id = endpoint_id JOIN services s ON s.id = service_id
			WHERE exchange ? 'moved_host'
		)
		SELECT id, host, old_host, path FROM moved m
		WHERE NOT EXISTS (SELECT FROM services WHERE ` + hostOf + ` = m.host)
			AND NOT EXISTS (SELECT FROM services WHERE ` + hostOf + ` = 'www.' || m.host)
			AND NOT EXISTS (SELECT FROM moved o WHERE o.host = m.host AND o.old_host <> m.old_host)
	) moves`

// ReadMoves returns the old host of each new one.
func ReadMoves(ctx context.Context, q rows.Querier) (map[string]string, error) {
	moved := map[string]string{}
	var host, old string
	err := rows.Each(ctx, q, `SELECT DISTINCT host, old_host FROM `+MovesTable, []any{&host, &old},
		func() { moved[host] = old })
	if err != nil {
		return nil, fmt.Errorf("read to which hosts services moved: %w", err)
	}
	return moved, nil
}
