package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tollbook/cmd/tollbook/directory"
	"tollbook/site"
	"tollbook/site/display"
)

// readerReport is the result of check and the form of its JSON: fields are added, never renamed.
type readerReport struct {
	URL      string           `json:"url"` // normal form
	Verdict  string           `json:"verdict"`
	Findings []finding        `json:"findings"`
	Observed json.RawMessage  `json:"observed"` // null if the URL is not listed
	Answer   *directoryAnswer `json:"answer"`   // null without --ask

	record *record
}

// has reports whether a finding is about something and has a result.
func (r *readerReport) has(about, result string) bool {
	return slices.ContainsFunc(r.Findings, func(f finding) bool { return f.About == about && f.Result == result })
}

// labels are the results of findings for people.
var labels = map[string]string{
	resultSame: "as observed", resultDiffers: "DIFFERS", resultDanger: "DANGER", resultUnknown: "unknown",
	resultCaution: "caution", resultNote: "note",
}

// text returns the report for people.
func (r *readerReport) text() string {
	var p page
	p.wrap("", r.URL)
	if k := r.record; k != nil {
		p.wrap("", fmt.Sprintf("%s: %s (%s, risk %s)", own(k.Service.Slug), display.Name(k.Service.Name),
			display.Status(k.Service.Status), display.Line(k.Service.Risk, display.MaxCode)))
	}
	p.line("")
	for i, f := range r.Findings {
		if i == endpointLines {
			p.value("more", fmt.Sprintf("%d findings; --json prints all", len(r.Findings)-i))
			break
		}
		label := labels[f.Result]
		if f.Result == resultSame || f.Result == resultDiffers {
			p.value(label, f.About+": "+f.Text)
			continue
		}
		p.value(label, f.Text)
	}
	if r.Verdict == verdictListed {
		for i, o := range r.record.options {
			if i == endpointLines {
				p.value("observed", fmt.Sprintf("%d more", len(r.record.options)-i))
				break
			}
			p.value("observed", o.Method+" "+o.String()+sinceText(o.since))
		}
	}
	p.line("")
	p.wrap("", r.conclusion())
	return plainText(p.String())
}

// conclusion returns the verdict in a sentence.
func (r *readerReport) conclusion() string {
	switch r.Verdict {
	case resultSame:
		return "Same as observed."
	case verdictListed:
		return "Listed and not in danger. Nothing was compared: give --pay-to, --network and --price, or --ask."
	case resultDiffers:
		return "Do not pay before you know why it differs."
	case resultDanger:
		return "Do not pay."
	}
	if r.record == nil {
		return "No verdict: the directory knows nothing about this URL."
	}
	if r.has(aboutRisk, resultUnknown) || r.has(aboutOption, resultUnknown) {
		return "Do not pay before you know more."
	}
	return "No verdict: the URL could not be compared."
}

// failure returns the error of a verdict other than same and listed.
func (r *readerReport) failure() error {
	switch r.Verdict {
	case resultDiffers:
		return fmt.Errorf("%s differs from what the directory observed", r.URL)
	case resultDanger:
		return fmt.Errorf("%s: a payment is advised against", r.URL)
	case resultUnknown:
		return fmt.Errorf("%s: %w", r.URL, errUnknown)
	}
	return nil
}

// findRecipients returns which listed services are paid at recipients that were not observed at the URL. A recipient
// that the directory does not know is left out.
func (r *readerReport) findRecipients(ctx context.Context, from *directory.Reader, c claim) (list findings) {
	seen := []string{}
	look := func(network, payTo string) {
		isSeen := func(other string) bool { return isSameAddress(other, payTo) }
		if network == "" || !isAddress(payTo) || strings.Contains(payTo, "/") || len(seen) == maxNames ||
			slices.ContainsFunc(seen, isSeen) ||
			r.record != nil && len(keep(r.record.options, func(o option) bool { return isSeen(o.PayTo) })) > 0 {
			return
		}
		seen = append(seen, payTo)
		recipient, err := directory.GetData[site.RecipientLookup](ctx, from,
			"/v1/lookup/pay-to/"+network+"/"+payTo+".json")
		if err != nil || len(recipient.Services) == 0 {
			return
		}
		names := make([]string, min(len(recipient.Services), maxNames))
		for i := range names {
			names[i] = own(recipient.Services[i].Slug)
		}
		list.add(aboutRecipient, resultNote, "%s is the recipient of %s: %s", own(payTo),
			display.Plural(int64(recipient.ServiceCount), "listed service", "listed services"),
			strings.Join(names, ", "))
	}
	if c.PayTo != "" {
		look(c.Network, c.PayTo)
	}
	if r.Answer != nil {
		for _, o := range r.Answer.Options {
			look(o.Network, o.PayTo)
		}
	}
	return list
}
