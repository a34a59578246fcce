package postgres

import (
	"context"
	"fmt"
	"time"

	"tollbook/site/listing"
)

// hostForm is the setting that names the form in which hosts are stored, and storedForm its value.
const (
	hostForm   = "host_form"
	storedForm = "1" // that of listing.NormalHost
)

// normalizeHosts brings the URLs of listed services and the hosts of opt-outs into the form of listing.BaseURL, once in
// the life of a database: earlier versions stored hosts as people wrote them. A crash here leaves the setting unwritten,
// and the next program that opens the database does it again.
func (db *DB) normalizeHosts(ctx context.Context, now time.Time) error {
	form, err := db.Setting(ctx, hostForm)
	if err != nil || form == storedForm {
		return err
	}
	if err := db.ChangeListings(ctx, "tollbook", now, planHosts); err != nil {
		return fmt.Errorf("bring the hosts of services into one form: %w", err)
	}
	if err := db.NormalizeOptOuts(ctx); err != nil {
		return err
	}
	return db.SetSetting(ctx, hostForm, storedForm)
}

// planHosts returns the changes that bring the URL of each service into one form. Of services at one URL the one that
// has this form stays, or else the one that was listed first. The others are hidden, and the audit trail names it.
func planHosts(l Listed) (changes ListingChanges, err error) {
	stays := map[string]*DueService{} // by base URL
	for i := range l.Services {
		s := &l.Services[i]
		base, err := listing.BaseURL(s.BaseURL)
		if err != nil {
			continue // stays as it is; visits say why they refuse the URL
		}
		if first := stays[base]; first == nil || first.BaseURL != base && (s.BaseURL == base || s.ID < first.ID) {
			stays[base] = s
		}
	}
	for i := range l.Services {
		s := &l.Services[i]
		base, err := listing.BaseURL(s.BaseURL)
		if err != nil || base == s.BaseURL {
			continue
		}
		change := ListingChange{ID: s.ID, Pruned: s.Pruned, Listing: Listing{
			Slug: s.Slug, Name: s.Name, Description: s.Description, BaseURL: s.BaseURL, WebsiteURL: s.WebsiteURL,
			Category: s.Category, Source: s.Source,
		}}
		if first := stays[base]; first != s {
			if s.State == StateHidden {
				continue
			}
			change.State, change.Action = StateHidden, "hide"
			change.Detail = "its URL is that of " + first.Slug + ", written in another way"
		} else {
			change.BaseURL, change.Action, change.Detail = base, "change", "url: "+s.BaseURL+" → "+base
		}
		changes.Change = append(changes.Change, change)
	}
	return changes, nil
}
