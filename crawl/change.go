package crawl

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/offer"
	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// changeGap is the least time between two change records of the same type for one service. Changes within an hour of a
// record are held back. The next record then compares the current prices with those that the last record reported. So a
// price that differs at every visit makes one record an hour, and a price that changed and came back makes none. A
// record never changes once it is written, because it enters the logs.
const changeGap = time.Hour

// addChanges adds change records to v for the visit's new sets of prices and for changes held back before. The first
// set of prices of a service is no change. Nor is the first set of an endpoint that was listed together with the
// service: previous visits merely did not reach it. Nor is what an endpoint asks of signed requests a change of what it
// asked of others, and the other way round.
func (c *Crawler) addChanges(ctx context.Context, s postgres.DueService, v *checks.Visit, answers []answer) error {
	replaced, offered := map[uuid.UUID][]checks.Price{}, map[uuid.UUID][]checks.Offer{}
	signed := map[uuid.UUID]bool{} // of the endpoints that answered conclusively
	for _, e := range v.Endpoints {
		if e.Verdict != nil {
			signed[e.ID] = e.Signed
		}
		if e.PricesChanged {
			replaced[e.ID] = e.Prices
		}
		if e.OffersChanged {
			offered[e.ID] = e.Offers
		}
	}
	hasShown := func(e postgres.Endpoint) bool { return e.Fingerprint != nil || e.Offers != nil }
	if !slices.ContainsFunc(s.Endpoints, hasShown) {
		return nil
	}
	if len(replaced)+len(offered)+len(s.Baselines) == 0 {
		return nil
	}
	current, err := c.db.CurrentPrices(ctx, s.ID)
	if err != nil {
		return err
	}
	var first offer.Set // of endpoints that were listed with the service
	var sets []checks.OfferSet
	labels := newLabels(s, answers)
	after := offer.Set{Labels: labels}
	for _, e := range s.Endpoints {
		if !hasShown(e) && !e.FirstSeenAt.After(s.CreatedAt) {
			first.Prices = append(first.Prices, replaced[e.ID]...)
			first.Others = append(first.Others, checks.OfferSet{EndpointID: e.ID, Offers: offered[e.ID]})
		}
		set := checks.OfferSet{EndpointID: e.ID, Offers: e.Offers, Signed: e.Signed}
		sets = append(sets, set)
		if now, ok := offered[e.ID]; ok {
			set.Offers = now
		}
		if now, ok := signed[e.ID]; ok {
			set.Signed = now
		}
		after.Others = append(after.Others, set)
	}
	for _, p := range current {
		if _, gone := replaced[p.EndpointID]; !gone {
			after.Prices = append(after.Prices, p)
		}
	}
	for _, e := range v.Endpoints {
		after.Prices = append(after.Prices, replaced[e.ID]...)
	}
	recorded := int64(-1) // bytes of the records of the day before this visit; negative while unknown
	for _, kind := range site.OfferChangeTypes {
		before := offer.Set{Prices: current, Others: sets, Labels: labels}
		lastRecord, marked := s.Baselines[kind]
		if marked {
			if v.Check.CheckedAt.Sub(lastRecord) < changeGap {
				continue // held back
			}
			if before.Prices, err = c.db.PricesAt(ctx, s.ID, lastRecord); err != nil {
				return err
			}
			if before.Others, err = c.db.OffersAt(ctx, s.ID, lastRecord); err != nil {
				return err
			}
		}
		before.Prices = slices.Concat(before.Prices, first.Prices)
		before.Others = slices.Concat(before.Others, first.Others)
		compare, err := before.WithoutOtherKind(after).Compare(kind, after)
		if err != nil {
			return err
		}
		if compare != nil {
			if recorded < 0 && compare.Size() > change.ShortRecord {
				if recorded, err = c.db.RecordedBytes(ctx, s.ID, v.Check.CheckedAt.AddDate(0, 0, -1)); err != nil {
					return err
				}
			}
			if recorded >= 0 {
				limit := min(change.MaxRecord, max(change.ShortRecord, change.MaxDay-int(recorded)))
				compare.Summary, compare.OldSnapshot, compare.NewSnapshot = change.Cut(kind, compare.Summary,
					compare.OldSnapshot, compare.NewSnapshot, limit)
				recorded += int64(compare.Size())
			}
			compare.ServiceID, compare.ObservedAt = s.ID, v.Check.CheckedAt
			v.Changes = append(v.Changes, *compare)
		} else if marked {
			v.ClearedTypes = append(v.ClearedTypes, kind)
		}
	}
	return nil
}

// newLabels returns the labels of a service's endpoints after a visit.
func newLabels(s postgres.DueService, answers []answer) map[uuid.UUID]offer.Label {
	labels := map[uuid.UUID]offer.Label{}
	for _, e := range s.Endpoints {
		method := e.Method
		if method == "" {
			method = "GET"
		}
		labels[e.ID] = offer.Label{Endpoint: method + " " + e.Path, MimeType: e.MimeType,
			Resource: new(s.BaseURL + e.Path)}
	}
	for _, a := range answers { // the probe determined a method that nobody declared
		if a.endpoint.Method == "" && a.result.Method != "" {
			l := labels[a.endpoint.ID]
			l.Endpoint = a.result.Method + " " + a.endpoint.Path
			labels[a.endpoint.ID] = l
		}
	}
	return labels
}
