package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// ErrDailyLimit says that all of the day's requests to the model are used.
var ErrDailyLimit = errors.New("all of the day's requests to the model are used")

// Question identifies a question to a model. The same question is answered once.
type Question struct {
	InputHash     string
	ModelID       string
	PromptVersion string
}

// SynthesisFacts is a model's answer about a service, with its question.
type SynthesisFacts struct {
	Question
	AskedAt time.Time
	Answer  site.Synthesis
}

// TakeInputs leases up to limit services whose input for the model is to be computed, those never computed first, and
// returns the facts of the input. A new service waits for its first visit and for the first reading of its site (at
// most an hour), so that the model is not asked twice.
func (db *DB) TakeInputs(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]ServiceFacts, error) {
	var due []ServiceFacts
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		taken, err := services(ctx, tx, `
			WITH due AS (
				SELECT s.id FROM services s JOIN service_states state ON state.service_id = s.id LEFT
					JOIN synthesis_inputs i ON i.service_id = s.id
				WHERE (i.service_id IS NULL OR i.due_at <= $1) AND state.last_checked_at IS NOT NULL AND EXISTS (
					SELECT FROM site_facts f
					WHERE f.service_id = s.id AND (f.checked_at IS NOT NULL OR f.domain IS NOT NULL
						OR s.created_at <= $1 - interval '1 hour'))
				ORDER BY i.due_at NULLS FIRST, s.id
				LIMIT $2
				FOR NO KEY UPDATE OF s SKIP LOCKED
			), leased AS (
				INSERT INTO synthesis_inputs AS old (service_id, due_at) SELECT id, $1::timestamptz + $3::interval
					FROM due
				ON CONFLICT (service_id) DO UPDATE SET due_at = excluded.due_at WHERE old.due_at <= $1
				RETURNING service_id
			)
			SELECT `+serviceColumns+` FROM `+serviceRows+` JOIN leased ON leased.service_id = id
			ORDER BY id`, now, limit, lease)
		if err != nil {
			return err
		}
		due, err = inputFacts(ctx, tx, taken)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take due inputs: %w", err)
	}
	return due, nil
}

// inputFacts reads the facts of an input: endpoints by path and method with their envelopes, and the site.
func inputFacts(ctx context.Context, tx pgx.Tx, taken []Service) ([]ServiceFacts, error) {
	ids, at := make([]int64, len(taken)), make(map[int64]*ServiceFacts, len(taken))
	facts := make([]ServiceFacts, len(taken))
	for i, s := range taken {
		ids[i], facts[i].Service = s.ID, s
		at[s.ID] = &facts[i]
	}
	list, err := endpoints(ctx, tx, `
		SELECT `+endpointColumns+` FROM endpoints WHERE service_id = ANY($1)
		ORDER BY service_id, path, method, id`, ids)
	if err != nil {
		return nil, err
	}
	by, err := checks.ServiceEnvelopes(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		s := at[e.ServiceID]
		s.Endpoints = append(s.Endpoints, EndpointFacts{Endpoint: e, Envelope: by[e.ID]})
	}
	for i := range facts {
		facts[i].Endpoints = omitUnproven(facts[i].Endpoints)
	}
	rows, err := tx.Query(ctx, `
		SELECT service_id, checked_at, homepage, openapi, pricing, llms_txt, robots, terms, domain
		FROM site_facts WHERE service_id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read site facts: %w", err)
	}
	var id int64
	var s SiteFacts
	_, err = pgx.ForEachRow(rows, []any{&id, &s.CheckedAt, &s.Homepage, &s.OpenAPI, &s.Pricing, &s.LLMsTxt, &s.Robots,
		&s.Terms, &s.Domain}, func() error {
		at[id].Site = new(s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read site facts: %w", err)
	}
	return facts, nil
}

// RecordInput stores the hash of a service's input and when the input is computed next.
func (db *DB) RecordInput(ctx context.Context, serviceID int64, hash string, now, next time.Time) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE synthesis_inputs SET due_at = $4, input_hash = $2,
			changed_at = CASE WHEN input_hash = $2 THEN changed_at ELSE $3 END
		WHERE service_id = $1`, serviceID, hash, now, next)
	if err != nil {
		return fmt.Errorf("record the input of service %d: %w", serviceID, err)
	}
	return nil
}

// TakeQuestion leases the service whose input changed last, of those without an answer or a recent failure for this
// model and prompt, and takes one of the day's perDay requests. It returns nil if there is nothing to ask, and
// ErrDailyLimit if no request is left. Concurrent calls wait for the day's row, so that they never exceed perDay. If
// the process dies, the question is asked again when its lease ends, and counts twice, because the request may have
// been sent.
func (db *DB) TakeQuestion(ctx context.Context, now time.Time, model, prompt string, perDay int,
	lease time.Duration) (*ServiceFacts, error) {
	var taken *ServiceFacts
	errNone := errors.New("nothing to ask")
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		day := now.UTC().Format(time.DateOnly)
		tag, err := tx.Exec(ctx, `
			INSERT INTO synthesis_days AS old (day, requests) SELECT $1::date, 1 WHERE $2 > 0
			ON CONFLICT (day) DO UPDATE SET requests = old.requests + 1 WHERE old.requests < $2`, day, perDay)
		if err != nil {
			return err
		}
		list, err := services(ctx, tx, `
			SELECT `+serviceColumns+` FROM `+serviceRows+` JOIN synthesis_inputs i ON i.service_id = id
			WHERE i.input_hash IS NOT NULL AND (i.leased_until IS NULL OR i.leased_until <= $1)
				AND NOT EXISTS (SELECT FROM syntheses a
					WHERE a.service_id = id AND a.input_hash = i.input_hash AND a.model_id = $2
						AND a.prompt_version = $3)
				AND NOT EXISTS (SELECT FROM synthesis_failures f
					WHERE f.service_id = id AND f.input_hash = i.input_hash AND f.model_id = $2
						AND f.prompt_version = $3 AND f.retry_at > $1)
			ORDER BY i.changed_at DESC, id
			LIMIT 1`, now, model, prompt)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return errNone // the rollback also returns the request
		case tag.RowsAffected() == 0:
			return ErrDailyLimit
		}
		if _, err := tx.Exec(ctx, `UPDATE synthesis_inputs SET leased_until = $2 WHERE service_id = $1`, list[0].ID,
			now.Add(lease)); err != nil {
			return err
		}
		facts, err := inputFacts(ctx, tx, list)
		if err == nil {
			taken = &facts[0]
		}
		return err
	})
	if errors.Is(err, errNone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("take a question: %w", err)
	}
	return taken, nil
}

// StoreSynthesis stores an answer in place of the previous one.
func (db *DB) StoreSynthesis(ctx context.Context, serviceID int64, s SynthesisFacts) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`
			INSERT INTO syntheses (service_id, input_hash, model_id, prompt_version, asked_at, answer)
			SELECT id, $2, $3, $4, $5, $6 FROM services WHERE id = $1
			ON CONFLICT (service_id) DO UPDATE SET input_hash = excluded.input_hash, model_id = excluded.model_id,
				prompt_version = excluded.prompt_version, asked_at = excluded.asked_at, answer = excluded.answer`,
			serviceID, s.InputHash, s.ModelID, s.PromptVersion, s.AskedAt, s.Answer)
		b.Queue(`DELETE FROM synthesis_failures WHERE service_id = $1`, serviceID)
		b.Queue(`UPDATE synthesis_inputs SET leased_until = NULL WHERE service_id = $1`, serviceID)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("store the synthesis of service %d: %w", serviceID, err)
	}
	return nil
}

// ReleaseQuestion ends the lease of a question that failed for a temporary reason. It may be asked again at once.
func (db *DB) ReleaseQuestion(ctx context.Context, serviceID int64) error {
	if _, err := db.pool.Exec(ctx, `UPDATE synthesis_inputs SET leased_until = NULL WHERE service_id = $1`,
		serviceID); err != nil {
		return fmt.Errorf("release the question of service %d: %w", serviceID, err)
	}
	return nil
}

// Pauses after a failed question: the first one, which doubles with each further failure, and the longest.
const (
	failurePause = 15 * time.Minute
	failureMax   = 7 * 24 * time.Hour
)

// sameQuestion tests whether a failure belongs to the question that failed before.
const sameQuestion = `(old.input_hash, old.model_id, old.prompt_version) = (excluded.input_hash, excluded.model_id,
	excluded.prompt_version)`

// StoreSynthesisFailure stores why a question has no valid answer. It is asked again after a pause that doubles with
// each consecutive failure, and not before notBefore.
func (db *DB) StoreSynthesisFailure(ctx context.Context, serviceID int64, q Question, reason string, now,
	notBefore time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(`
			INSERT INTO synthesis_failures AS old (service_id, input_hash, model_id, prompt_version, failed_at,
				failures, reason, retry_at)
			SELECT id, $2, $3, $4, $5::timestamptz, 1, $6, greatest($5::timestamptz + $8::interval, $7) FROM services
				WHERE id = $1
			ON CONFLICT (service_id) DO UPDATE SET input_hash = excluded.input_hash, model_id = excluded.model_id,
				prompt_version = excluded.prompt_version, failed_at = excluded.failed_at, reason = excluded.reason,
				failures = CASE WHEN `+sameQuestion+` THEN old.failures + 1 ELSE 1 END,
				retry_at = CASE WHEN `+sameQuestion+`
					THEN greatest(excluded.failed_at + least($9::interval,
						$8::interval * power(2, least(old.failures, 20))), $7)
					ELSE excluded.retry_at END`,
			serviceID, q.InputHash, q.ModelID, q.PromptVersion, now, reason, notBefore, failurePause, failureMax)
		b.Queue(`UPDATE synthesis_inputs SET leased_until = NULL WHERE service_id = $1`, serviceID)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("store the failed synthesis of service %d: %w", serviceID, err)
	}
	return nil
}

// CategoriesInUse returns the categories of the listed services, sorted.
func (db *DB) CategoriesInUse(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT DISTINCT category COLLATE "C" FROM services ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("read categories: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read categories: %w", err)
	}
	return list, nil
}

// readSyntheses reads the model's answer about each service.
func (r *Reader) readSyntheses(ctx context.Context, by map[int64]*ServiceFacts) error {
	rows, err := r.tx.Query(ctx,
		`SELECT service_id, input_hash, model_id, prompt_version, asked_at, answer FROM syntheses
			WHERE service_id = ANY($1)`, slices.Collect(maps.Keys(by)))
	if err != nil {
		return fmt.Errorf("read syntheses: %w", err)
	}
	var id int64
	var s SynthesisFacts
	_, err = pgx.ForEachRow(rows, []any{&id, &s.InputHash, &s.ModelID, &s.PromptVersion, &s.AskedAt, &s.Answer},
		func() error {
			by[id].Synthesis = new(s)
			s.Answer = site.Synthesis{} // the next row must not share its list
			return nil
		})
	if err != nil {
		return fmt.Errorf("read syntheses: %w", err)
	}
	return nil
}
