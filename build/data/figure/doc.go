// Package figure proves what a directory publishes. A proof is one query over the tables of /data/: each of its rows says
// which values the JSON of the snapshot must have, and where. The page about verification shows them, each with a
// link to the rule that it says in SQL.
//
// The queries are files of templates/proofs. SQLite and DuckDB read them alike.
//
// It must never judge: a proof that needs Go is no proof.
package figure
