package pull

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"tollbook/site/postgres/sources"
)

// WriteMetrics writes the state of the sources that are enabled, in the text format of Prometheus. It writes nothing if
// the database does not answer, because unknown is not zero.
func (p *Puller) WriteMetrics(ctx context.Context, w io.Writer) error {
	states, err := p.store.List(ctx)
	if err != nil {
		return nil
	}
	b := bufio.NewWriter(w)
	family := func(name, help string, write func(name string, s sources.State)) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
		for _, s := range states {
			if of, ok := p.find(s.Name); ok && IsEnabled(of, s) {
				write(fmt.Sprintf("%s{source=%q}", name, s.Name), s)
			}
		}
	}
	family("tollbook_source_last_success_timestamp_seconds",
		"When a public source was last read to its end, in seconds since 1970.", func(name string, s sources.State) {
			if s.SucceededAt != nil {
				fmt.Fprintf(b, "%s %d\n", name, s.SucceededAt.Unix())
			}
		})
	family("tollbook_source_resources", "Resources that a public source lists.", func(name string, s sources.State) {
		if s.Accepted != nil {
			fmt.Fprintf(b, "%s %d\n", name, s.Listed)
		}
	})
	family("tollbook_source_failures", "Pulls of a public source that failed since the last one that succeeded.",
		func(name string, s sources.State) { fmt.Fprintf(b, "%s %d\n", name, s.Failures) })
	family("tollbook_source_held_back",
		"Whether an answer of a public source is held back because it lacks more than half of the list: 0 or 1.",
		func(name string, s sources.State) {
			held := 0
			if s.Held != nil {
				held = 1
			}
			fmt.Fprintf(b, "%s %d\n", name, held)
		})
	return b.Flush()
}
