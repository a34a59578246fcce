package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Numbers of services that can be compared, as on the page /compare.
const (
	minCompared = 2
	maxCompared = 4
)

// comparisonRoute is the page that shows the same figures.
const comparisonRoute = "compare-page"

// argumentSlugs is the argument of compare_services.
var argumentSlugs = argument{name: "slugs", required: true, list: true, max: maxCompared * (site.MaxSlug + 1),
	about: fmt.Sprintf("%d to %d slugs", minCompared, maxCompared)}

// comparedSlugs returns the slugs of a call, each once, or an error response.
func comparedSlugs(value string) ([]string, *answer) {
	var slugs []string
	for slug := range strings.SplitSeq(value, ",") {
		if slug = strings.TrimSpace(slug); slug != "" && !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	if len(slugs) < minCompared || len(slugs) > maxCompared {
		return nil, invalid(argumentSlugs.name, fmt.Sprintf("must be %d to %d different slugs; got %d", minCompared,
			maxCompared, len(slugs)))
	}
	return slugs, nil
}

// readComparison joins the records of several services of one snapshot, byte for byte.
func readComparison(ctx context.Context, r reader, values map[string]string) *answer {
	slugs, wrong := comparedSlugs(values[argumentSlugs.name])
	if wrong != nil {
		return wrong
	}
	joined := &answer{code: http.StatusOK}
	joined.body.WriteString(`{"data":[`)
	var provenance json.RawMessage // the same in all responses of a snapshot
	for i, slug := range slugs {
		a := r.service(ctx, slug, values)
		if a.code == http.StatusNotFound && a.header.Get("X-Snapshot") != "" {
			return r.unknownService(ctx, argumentSlugs.name, slug)
		} else if a.code != http.StatusOK {
			return a
		}
		var one struct{ Data, Provenance json.RawMessage }
		if err := json.Unmarshal(a.body.Bytes(), &one); err != nil {
			r.logger.Error("compare services", "slug", slug, "err", err)
			return failed(internalError)
		}
		if i > 0 {
			joined.body.WriteByte(',')
		}
		joined.body.Write(one.Data)
		provenance = one.Provenance
		joined.header = a.header
		values[argumentSnapshot.name] = a.header.Get("X-Snapshot")
	}
	joined.body.WriteByte(']')
	joined.end(provenance)
	return joined
}

// comparedService is the compact form of a service in a comparison. It has the figures of the page /compare.
type comparedService struct {
	Slug             string             `json:"slug"`
	Name             string             `json:"name"`
	Risk             string             `json:"risk"`
	RiskFlags        []string           `json:"risk_flags,omitempty"`
	Status           string             `json:"status"`
	Uptime           map[string]float64 `json:"uptime"` // by window
	DaysChecked      int                `json:"days_checked_90d"`
	AvgResponseMS    *int               `json:"avg_response_ms"`
	ResponseP95MS    *int               `json:"response_p95_ms"`
	MinPriceUSD      *site.Decimal      `json:"min_price_usd"`
	PriceCondition   string             `json:"price_condition,omitempty"` // of min_price_usd
	MaxPriceUSD      *site.Decimal      `json:"max_price_usd"`
	PriceModel       string             `json:"price_model"`
	PriceStability   *float64           `json:"price_stability_30d"`
	EndpointCount    int                `json:"endpoint_count"`
	Networks         []string           `json:"networks"`
	MoreNetworks     int                `json:"more_networks,omitempty"`
	Assets           []string           `json:"assets"`
	Grade            string             `json:"grade"`
	FailedChecks     []string           `json:"failed_checks,omitempty"`
	RecipientChanges int                `json:"recipient_changes_90d"`
	Verified         bool               `json:"verified"`
	DomainAgeDays    *int               `json:"domain_age_days"`
	VolumeUSD30d     *site.Decimal      `json:"volume_usd_30d"`
	TxCount30d       *int64             `json:"tx_count_30d"`
	UniqueBuyers30d  *int64             `json:"unique_buyers_30d"`
	OrganicUSD30d    *site.Decimal      `json:"organic_volume_usd_30d"`
	OrganicBuyers30d *int64             `json:"organic_buyers_30d"`
	TopBuyerShare30d *float64           `json:"top_buyer_share_30d"`
	Documents        []string           `json:"website_documents"` // null if the website was not read
	CreatedAt        site.Time          `json:"created_at"`
	LastCheckedAt    *site.Time         `json:"last_checked_at"`
	BestIn           []string           `json:"best_in"` // figures in which no other service is better
}

func compactComparison(v *site.One[[]site.ServiceDetail], limit size) any {
	rows := rowsOf(v.Data, func(s *site.ServiceDetail) comparedService { return compareService(s, limit) })
	markBest(rows)
	return compactList[comparedService]{Data: rows}
}

func compareService(s *site.ServiceDetail, limit size) comparedService {
	a := &s.Assessment
	r := comparedService{
		Slug: s.Slug, Name: cut(s.Name, limit.name), Risk: a.Risk.Level, Status: s.Status, Uptime: map[string]float64{},
		DaysChecked: s.Uptime.Coverage.D90.DaysCovered, AvgResponseMS: s.AvgResponseTimeMS,
		ResponseP95MS: a.Reliability.ResponseP95MS, MinPriceUSD: s.MinPriceUSD, MaxPriceUSD: a.Economics.PriceMaxUSD,
		PriceCondition: cutOrNull(s.PriceCondition, limit.text),
		PriceModel:     a.Economics.Model, PriceStability: a.Economics.Stability, EndpointCount: s.EndpointCount,
		Grade: a.Compliance.Grade, FailedChecks: failedChecks(a), RecipientChanges: len(s.PayToChanges),
		Verified: s.Verified, DomainAgeDays: a.Domain.AgeDays, Documents: documents(&a.Site), CreatedAt: s.CreatedAt,
		LastCheckedAt: s.LastCheckedAt, BestIn: []string{},
	}
	for window, share := range map[string]*float64{"24h": s.Uptime.H24, "7d": s.Uptime.D7, "30d": s.Uptime.D30,
		"90d": s.Uptime.D90} {
		if share != nil {
			r.Uptime[window] = *share
		}
	}
	flags, _ := limit.first(len(a.Risk.Flags))
	for _, f := range a.Risk.Flags[:flags] {
		r.RiskFlags = append(r.RiskFlags, cut(f.Level+": "+f.Title, limit.text))
	}
	r.Networks, r.MoreNetworks = limit.networks(s.Networks)
	r.Assets = assets(s, limit)
	if t := &a.Traction; t.Status == site.TractionMeasured {
		r.VolumeUSD30d, r.TxCount30d, r.UniqueBuyers30d = t.VolumeUSD30d, t.TxCount30d, t.UniqueBuyers30d
		r.OrganicUSD30d, r.OrganicBuyers30d = t.OrganicVolumeUSD30d, t.OrganicBuyers30d
		r.TopBuyerShare30d = t.TopBuyerShare30d
	}
	return r
}

// assets returns the names of the assets that a service accepts, sorted.
func assets(s *site.ServiceDetail, limit size) []string {
	names := []string{}
	for i := range s.Endpoints {
		for _, p := range s.Endpoints[i].Pricing {
			if name := cut(display.Asset(p.AssetName), limit.name); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	shown, _ := limit.first(len(names))
	return names[:shown]
}

// documents returns the documents that a service's website has, or nil if it was not read.
func documents(f *site.SiteFacts) []string {
	if f.CheckedAt == nil {
		return nil
	}
	names := []string{}
	for _, d := range []struct {
		name string
		has  *bool
	}{{"homepage", f.Homepage}, {"pricing", f.Pricing}, {"terms", f.Terms}, {"openapi", f.OpenAPI},
		{"llms_txt", f.LLMsTxt}, {"robots", f.Robots}} {
		if d.has != nil && *d.has {
			names = append(names, d.name)
		}
	}
	return names
}

// figure is a value that is better if it is lower or higher.
type figure struct {
	name  string
	value func(*comparedService) *float64 // nil if it is not known
	sign  int                             // 1: highest is best, -1: lowest is best
}

// number returns a value as a floating-point number, which is only compared.
func number[T int | int64 | float64](v *T) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

// amount returns money as a floating-point number, which is only compared.
func amount(d *site.Decimal) *float64 {
	if d == nil {
		return nil
	}
	f, _ := d.Rational().Float64()
	return &f
}

// rank returns the index of a name in a list, or nil.
func rank(names []string, name string) *float64 {
	i := slices.Index(names, name)
	if i < 0 {
		return nil
	}
	return new(float64(i))
}

// figures are those in which the page /compare marks the best value.
var figures = []figure{
	{"risk", func(s *comparedService) *float64 {
		return rank([]string{site.RiskClean, site.RiskWarning, site.RiskDanger}, s.Risk)
	}, -1},
	{"uptime_24h", uptimeOf("24h"), 1}, {"uptime_7d", uptimeOf("7d"), 1}, {"uptime_30d", uptimeOf("30d"), 1},
	{"uptime_90d", uptimeOf("90d"), 1},
	{"days_checked_90d", func(s *comparedService) *float64 { return number(&s.DaysChecked) }, 1},
	{"avg_response_ms", func(s *comparedService) *float64 { return number(s.AvgResponseMS) }, -1},
	{"response_p95_ms", func(s *comparedService) *float64 { return number(s.ResponseP95MS) }, -1},
	{"min_price_usd", func(s *comparedService) *float64 {
		if s.PriceCondition != "" { // it costs more than the price
			return nil
		}
		return amount(s.MinPriceUSD)
	}, -1},
	{"max_price_usd", func(s *comparedService) *float64 { return amount(s.MaxPriceUSD) }, -1},
	{"price_stability_30d", func(s *comparedService) *float64 { return s.PriceStability }, 1},
	{"endpoint_count", func(s *comparedService) *float64 { return number(&s.EndpointCount) }, 1},
	{"networks", func(s *comparedService) *float64 {
		return new(float64(len(s.Networks) + s.MoreNetworks))
	}, 1},
	{"grade", func(s *comparedService) *float64 { return rank(site.Grades[:len(site.Grades)-1], s.Grade) }, -1},
	{"recipient_changes_90d", func(s *comparedService) *float64 { return number(&s.RecipientChanges) }, -1},
	{"domain_age_days", func(s *comparedService) *float64 { return number(s.DomainAgeDays) }, 1},
	{"website_documents", func(s *comparedService) *float64 {
		if s.Documents == nil {
			return nil
		}
		return new(float64(len(s.Documents)))
	}, 1},
	{"volume_usd_30d", func(s *comparedService) *float64 { return amount(s.VolumeUSD30d) }, 1},
	{"tx_count_30d", func(s *comparedService) *float64 { return number(s.TxCount30d) }, 1},
	{"unique_buyers_30d", func(s *comparedService) *float64 { return number(s.UniqueBuyers30d) }, 1},
	{"organic_volume_usd_30d", func(s *comparedService) *float64 { return amount(s.OrganicUSD30d) }, 1},
	{"organic_buyers_30d", func(s *comparedService) *float64 { return number(s.OrganicBuyers30d) }, 1},
	{"top_buyer_share_30d", func(s *comparedService) *float64 { return s.TopBuyerShare30d }, -1},
}

func uptimeOf(window string) func(*comparedService) *float64 {
	return func(s *comparedService) *float64 {
		if share, ok := s.Uptime[window]; ok {
			return &share
		}
		return nil
	}
}

// markBest names for each service the figures in which it has the best value. No value is the best if fewer than two
// are known or all are equal.
func markBest(services []comparedService) {
	for _, f := range figures {
		values := rowsOf(services, f.value)
		numbers := slices.DeleteFunc(slices.Clone(values), func(v *float64) bool { return v == nil })
		if len(numbers) < 2 || !slices.ContainsFunc(numbers, func(v *float64) bool { return *v != *numbers[0] }) {
			continue
		}
		top := slices.MaxFunc(numbers, func(a, b *float64) int { return f.sign * cmp.Compare(*a, *b) })
		for i, v := range values {
			if v != nil && *v == *top {
				services[i].BestIn = append(services[i].BestIn, f.name)
			}
		}
	}
}
