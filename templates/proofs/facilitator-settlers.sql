-- Accounts from which a facilitator settles.
-- methodology#facilitators
-- /v1/facilitators/{facilitator_id}
SELECT f.facilitator_id, count(DISTINCT s.address) AS "data.settler_count"
FROM facilitators f LEFT JOIN settlers s USING (facilitator_id) GROUP BY f.facilitator_id
