package pull

import (
	"context"
	"slices"
	"strings"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/source"
	"tollbook/site/postgres/sources"
)

const (
	listRows   = 20_000             // resources that are listed at once
	askedHosts = 200                // most hosts of a pull that are asked whether they answer
	askedRows  = 5000               // most resources of these hosts
	askAgain   = 7 * 24 * time.Hour // from one question to a host that did not answer to the next
)

// list makes services and endpoints of the resources of a pull, as the source's Take says.
func (j *job) list(ctx context.Context, pull int64) error {
	switch j.of.Take {
	case TakeNone:
		return nil
	case TakeAnswering:
		return j.listAnswering(ctx, pull)
	}
	for after := ""; ; {
		batch, err := j.store.NewResources(ctx, j.state.ID, pull, after, listRows)
		if err != nil || len(batch) == 0 {
			return err
		}
		after = batch[len(batch)-1].Resource
		if err := j.add(ctx, batch); err != nil {
			return err
		}
	}
}

// listAnswering asks hosts that have no service, and lists those that answer. New resources of listed services need no
// question.
func (j *job) listAnswering(ctx context.Context, pull int64) error {
	unlisted, err := j.store.UnlistedResources(ctx, j.state.ID, pull, j.o.Now().Add(-askAgain), askedRows)
	if err != nil {
		return err
	}
	answers, answering := map[string]bool{}, []sources.Resource(nil)
	for len(unlisted) > 0 && len(answers) < askedHosts {
		host := hostOf(unlisted[0])
		n := slices.IndexFunc(unlisted, func(r sources.Resource) bool { return hostOf(r) != host })
		if n < 0 {
			n = len(unlisted)
		}
		of := unlisted[:n]
		unlisted = unlisted[n:]
		items := itemsOf(of, j.of.Trust)
		if len(items) == 0 {
			continue
		}
		paid, err := j.visitor.AsksPayment(ctx, items)
		if err != nil {
			return err
		}
		if answers[host] = paid; paid {
			answering = append(answering, of...)
		}
	}
	if err := j.add(ctx, answering); err != nil {
		return err
	}
	// A crash here makes the next pull ask these hosts again.
	if err := j.store.StoreAsked(ctx, answers, j.o.Now()); err != nil {
		return err
	}
	for after := ""; ; {
		batch, err := j.store.NewResourcesOfServices(ctx, j.state.ID, pull, after, listRows)
		if err != nil || len(batch) == 0 {
			return err
		}
		after = batch[len(batch)-1].Resource
		if err := j.add(ctx, batch); err != nil {
			return err
		}
	}
}

// add lists resources. Processes take turns, so that two do not list one service at once.
func (j *job) add(ctx context.Context, list []sources.Resource) error {
	items := itemsOf(list, j.of.Trust)
	if len(items) == 0 {
		return nil
	}
	if err := j.lock.WaitToList(ctx); err != nil {
		return err
	}
	got, err := j.visitor.ListItems(ctx, items, j.of.Name)
	if err != nil {
		return err
	}
	j.report.Services += got.Services
	j.report.Endpoints += got.Endpoints
	j.report.Refused += got.Refused
	j.report.Removed += got.Removed
	return j.lock.EndListing(ctx)
}

// itemsOf returns the resources that can be endpoints. Without trust they have no texts of the source.
func itemsOf(list []sources.Resource, trust bool) []facts.Item {
	var items []facts.Item
	for _, r := range list {
		if r.Type != source.HTTP || r.IsSite {
			continue
		}
		i := facts.Item{URL: r.URL, Type: r.Type, Method: r.Method, Template: r.Template, MimeType: r.MimeType}
		if trust {
			i.Service, i.Description, i.Tags = r.Service, r.Description, r.Tags
		}
		items = append(items, i)
	}
	return items
}

// resourcesOf returns the rows of an answer as the database stores them.
func resourcesOf(list []source.Row) []sources.Resource {
	out := make([]sources.Resource, len(list))
	for i := range list {
		r := &list[i]
		id := r.Identity()
		out[i] = sources.Resource{
			Resource: id.URL, Method: id.Method, Tool: id.Tool, URL: r.URL, Type: r.Type, IsSite: r.Site,
			Template: r.Template, Service: r.Service, Description: r.Description, MimeType: r.MimeType, Tags: r.Tags,
		}
		if r.Category != "" {
			out[i].Tags = append([]string{r.Category}, r.Tags...)
		}
	}
	return out
}

// clean makes a stranger's text fit for the database: valid UTF-8 without NUL, at most n characters.
func clean(s string, n int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
