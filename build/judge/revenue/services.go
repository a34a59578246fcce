package revenue

import (
	"cmp"
	"slices"

	"tollbook/site"
)

// topServices is the number of services in FacilitatorListedServices.Top.
const topServices = 10

// FacilitatorServices adds services to the facilitators that settled their payments. Services must be added in the
// order of slugs.
type FacilitatorServices struct {
	at map[string]*site.FacilitatorDetail // by id
	// the first UTC day on which a facilitator settled to a recipient, by facilitator
	first map[recipient]map[string]string
	top   map[string][]site.FacilitatorTopService
}

type recipient struct{ network, payTo string }

// NewFacilitatorServices returns the services of the facilitators of a snapshot, of which none has any yet.
func NewFacilitatorServices(s *site.Snapshot) *FacilitatorServices {
	v := &FacilitatorServices{at: map[string]*site.FacilitatorDetail{}, first: map[recipient]map[string]string{},
		top: map[string][]site.FacilitatorTopService{}}
	for i := range s.Facilitators {
		f := &s.Facilitators[i]
		v.at[f.FacilitatorID] = f
		if f.Verification == site.VerificationOnChain {
			f.ListedServices.ActiveCount30d, f.ListedServices.AllTimeCount = new(int), new(int)
		}
	}
	return v
}

// Add adds a service to the facilitators that settled payments to it.
func (v *FacilitatorServices) Add(l *site.Listing) {
	d := &l.Detail
	ever := map[string]bool{}
	for _, via := range d.Assessment.Traction.SettledViaDetail {
		f := v.at[via.ID]
		if f == nil {
			continue
		}
		ever[via.ID] = true
		row := site.FacilitatorService{Slug: d.Slug, Name: d.Name, VolumeUSD30d: via.VolumeUSD30d,
			TxCount30d: via.TxCount30d}
		f.Services = append(f.Services, row)
		v.top[via.ID] = append(v.top[via.ID], site.FacilitatorTopService{FacilitatorService: row, Status: d.Status})
	}
	if l.ServiceFiles != nil { // else the service is set aside
		v.addSettled(&l.Settlements, ever)
	}
	for id := range ever {
		if f := v.at[id]; f.ListedServices.AllTimeCount != nil {
			*f.ListedServices.AllTimeCount++
		}
	}
}

// addSettled adds the facilitators that settled to a service's recipients while these belonged to it.
func (v *FacilitatorServices) addSettled(s *site.Settlements, ever map[string]bool) {
	for i := range s.Recipients {
		r := &s.Recipients[i]
		key := recipient{r.NetworkCAIP2, r.PayTo}
		for _, t := range r.Tokens { // rows of a recipient are in the first of the services that share it
			if v.at[t.FacilitatorID] == nil || len(t.Days) == 0 {
				continue
			}
			if v.first[key] == nil {
				v.first[key] = map[string]string{}
			}
			if day, ok := v.first[key][t.FacilitatorID]; !ok || t.Days[0].Date < day {
				v.first[key][t.FacilitatorID] = t.Days[0].Date
			}
		}
		for id, day := range v.first[key] {
			if r.Until == nil || day <= *r.Until {
				ever[id] = true
			}
		}
	}
}

// End sorts the services of each facilitator, the largest volume first, and cuts the lists.
func (v *FacilitatorServices) End() {
	order := func(a, b *site.FacilitatorService) int {
		return cmp.Or(b.VolumeUSD30d.Compare(a.VolumeUSD30d), cmp.Compare(b.TxCount30d, a.TxCount30d),
			cmp.Compare(a.Slug, b.Slug))
	}
	for id, f := range v.at {
		f.ServiceCount = len(f.Services)
		slices.SortFunc(f.Services, func(a, b site.FacilitatorService) int { return order(&a, &b) })
		f.Services = slices.Clip(f.Services[:min(len(f.Services), site.FacilitatorServices)])
		top := v.top[id]
		slices.SortFunc(top, func(a, b site.FacilitatorTopService) int {
			return order(&a.FacilitatorService, &b.FacilitatorService)
		})
		f.ListedServices.Top = append(f.ListedServices.Top, top[:min(len(top), topServices)]...)
		if f.ListedServices.ActiveCount30d != nil {
			*f.ListedServices.ActiveCount30d = f.ServiceCount
		}
	}
}
