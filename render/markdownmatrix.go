package render

import (
	"bytes"
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// maxKinds is the most kinds of payment on a page.
const maxKinds = 100

// writeMatrix writes which facilitators were asked what they settle, and the first of the kinds that they announce.
func writeMatrix(b *bytes.Buffer, m *site.FacilitatorMatrix, kinds []site.MatrixKind, json string) {
	fmt.Fprintf(b, "\nThis page as JSON: %s\n\n## Facilitators\n\n| Facilitator | Newest poll | Uptime, 30 days | "+
		"Median latency | Kinds |\n|---|---|---|---|---|\n", json)
	for _, f := range m.Facilitators {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d |\n", display.Markdown(f.FacilitatorID, display.MaxName),
			display.Supported(f.State), orUnknown(display.Percent(f.Uptime30d)),
			orUnknown(display.Millis(f.MedianLatencyMS30d)), f.KindCount)
	}
	b.WriteString("\n## What they announce\n\n| Network | Scheme | Token | Facilitators |\n|---|---|---|---|\n")
	for _, k := range kinds[:min(len(kinds), maxKinds)] {
		token := "none named"
		if k.AssetName != nil {
			token = display.Markdown(display.Asset(*k.AssetName), display.MaxCode)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", display.Markdown(k.NetworkName, display.MaxLine),
			display.Markdown(k.Scheme, display.MaxCode), token,
			display.Markdown(strings.Join(k.Facilitators, ", "), display.MaxDescription))
	}
	writeMore(b, len(kinds)-maxKinds)
}

// writeSupported writes what a facilitator answers when it is asked what it settles; nothing if it was never asked.
func writeSupported(b *bytes.Buffer, s *site.FacilitatorSupported, network func(id string) string) {
	if s == nil {
		return
	}
	fmt.Fprintf(b,
		"\n## What it says it settles\n\n- Newest poll: %s\n- Newest answer: %s\n- Uptime: %s over 30 days\n"+
			"- Latency: median %s, p95 %s over 30 days\n\n", display.Supported(s.State), orUnknown(markdownTime(s.AnsweredAt)),
		orUnknown(display.Percent(s.Uptime30d)), orUnknown(display.Millis(s.MedianLatencyMS30d)),
		orUnknown(display.Millis(s.P95LatencyMS30d)))
	for _, k := range s.Kinds[:min(len(s.Kinds), maxKinds)] {
		fmt.Fprintf(b, "- %s on %s", display.Markdown(k.Scheme, display.MaxCode),
			display.Markdown(network(k.NetworkCAIP2), display.MaxLine))
		if k.AssetName != nil {
			fmt.Fprintf(b, " in %s", display.Markdown(display.Asset(*k.AssetName), display.MaxCode))
		}
		fmt.Fprintf(b, ", x402 version %d\n", k.X402Version)
	}
	writeMore(b, len(s.Kinds)-maxKinds)
}
