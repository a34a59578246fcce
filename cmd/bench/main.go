// Command bench measures Tollbook beside the tools that an operator would use instead. Each sub-command measures one
// stage:
//
//	go run ./cmd/bench snapshot -services 20000 -runs 5
//
// README.md in this folder describes the benches and has their results.
package main

import (
	"os"

	"tollbook/cmd/bench/chain"
	"tollbook/cmd/bench/generate"
	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/html"
	"tollbook/cmd/bench/ingest"
	"tollbook/cmd/bench/probe"
	"tollbook/cmd/bench/publish"
	"tollbook/cmd/bench/pull"
	"tollbook/cmd/bench/read"
	"tollbook/cmd/bench/relevance"
	"tollbook/cmd/bench/snapshot"
)

func main() {
	os.Exit(harness.Main(
		chain.Command,
		generate.Command,
		html.Command,
		ingest.Command,
		probe.Command,
		publish.Command,
		pull.Command,
		read.Command,
		relevance.Command,
		snapshot.Command,
	))
}
