package lint

import (
	"fmt"
	"strings"

	"tollbook/crawl/probe"
)

// MaxTools is the most tools of an MCP server that are called.
const MaxTools = 25

// Tool is a tool of an MCP server.
type Tool struct {
	Name        string  `json:"name"`
	Paid        bool    `json:"paid"`        // the server's list names it as paid
	PriceUSD    *string `json:"price_usd"`   // that the list states; null for none
	Destructive bool    `json:"destructive"` // the server says that a call may destroy something
	Report      *Report `json:"report"`      // null if the tool was not called
}

// AddTools adds the tools of the MCP server that the report is about. Its checks are those of all tools that ask for
// payment.
func (r *Report) AddTools(list []probe.ToolResult) {
	for _, t := range list {
		tool := Tool{Name: t.Tool.Name, Paid: t.Tool.Paid, Destructive: t.Tool.Destructive}
		if t.Tool.PriceUSD != "" {
			tool.PriceUSD = &t.Tool.PriceUSD
		}
		if t.Result != nil {
			tool.Report = new(New(t.Result.FinalURL, *t.Result, false))
		}
		r.Tools = append(r.Tools, tool)
	}
}

// Judged returns the reports to judge the URL by: those of the tools of an MCP server that ask for payment, else r.
func (r *Report) Judged() (list []*Report) {
	for _, t := range r.Tools {
		if t.Report != nil && t.Report.Passed != nil {
			list = append(list, t.Report)
		}
	}
	if len(list) == 0 {
		return []*Report{r}
	}
	return list
}

// toolsText returns the part of the text about an MCP server.
func (r *Report) toolsText() string {
	paid := 0
	var called, others strings.Builder
	for _, t := range r.Tools {
		switch {
		case t.Report != nil:
			if t.Report.Passed != nil {
				paid++
			}
			fmt.Fprintf(&called, "\n%s", t.Report.Text())
		case t.Destructive:
			fmt.Fprintf(&others, "  %s: not called, because the server says that it may destroy something\n", t.Name)
		case t.Paid:
			fmt.Fprintf(&others, "  %s: named as paid, but not called, because there are many tools\n", t.Name)
		default:
			fmt.Fprintf(&others, "  %s: not called, because the server does not name it as paid\n", t.Name)
		}
	}
	text := fmt.Sprintf("An MCP server. Of its %d tools, %d asked for payment.\n", len(r.Tools), paid)
	if others.Len() > 0 {
		text += "\nOther tools\n" + others.String()
	}
	return text + called.String()
}
