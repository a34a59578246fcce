package render

import (
	"bytes"
	"fmt"

	"tollbook/render/money"
	"tollbook/site/display"
)

// writeFlow writes who pays whom as tables.
func writeFlow(b *bytes.Buffer, f *money.Flow, json string) {
	fmt.Fprintf(b, "\n%s %s\n\n- Volume: %s over 30 days\n- To listed services: %s\n- JSON: %s\n", f.Method, f.Caveat,
		orUnknown(display.DollarsOrNull(f.VolumeUSD30d)), orUnknown(f.Attributed), json)
	name := func(n money.FlowName) string {
		text := display.Markdown(n.Text, display.MaxName)
		if n.Title != "" {
			text = display.Markdown(n.Title, display.MaxLine) + " " + n.Numbers
		}
		return text
	}
	for _, s := range f.Stages {
		fmt.Fprintf(b, "\n## %s\n\n| From %s | %s | Volume, 30 days | Settlements |\n|---|---|---|---|\n", s.Title,
			s.Of, s.To)
		for _, g := range s.Groups {
			for _, r := range g.Rows {
				fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name(g.From), name(r.To), display.Dollars(r.Volume),
					display.Number(r.Count))
			}
		}
	}
}
