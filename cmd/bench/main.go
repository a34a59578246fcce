// Command bench measures Tollbook beside the programs that the field uses, a sub-command a stage:
//
//	go run ./cmd/bench snapshot -services 20000 -runs 5
//
// README.md beside this file says what each one compares, and what came out.
package main

import (
	"os"

	"tollbook/cmd/bench/chain"
	"tollbook/cmd/bench/generate"
	"tollbook/cmd/bench/html"
	"tollbook/cmd/bench/ingest"
	"tollbook/cmd/bench/probe"
	"tollbook/cmd/bench/publish"
	"tollbook/cmd/bench/read"
	"tollbook/cmd/bench/snapshot"
	"tollbook/cmd/bench/turns"
)

func main() {
	os.Exit(turns.Main(
		chain.Command,
		generate.Command,
		html.Command,
		ingest.Command,
		probe.Command,
		publish.Command,
		read.Command,
		snapshot.Command,
	))
}
