package openapi

import (
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// exampleSource is the name of a source in the examples of a directory that follows none.
const exampleSource = "bazaar"

// sourceBody returns the example of an operation on a public source for a directory that follows none: what it would be
// like if a source listed the service of the examples. It returns nil for any other operation.
func (x Examples) sourceBody(pattern string) ([]byte, error) {
	route := routes.ByName("source").Pattern
	table, ok := strings.CutPrefix(pattern, route)
	provenance := encode.FindProvenance(x.bodies["v1/stats.json"])
	if !ok || x.service == nil || provenance == nil {
		return nil, nil
	}
	at, n := site.NewTime(x.now), 1
	isPartial := false
	status, sum := 200, site.Hash(exampleSource)
	since := x.service.CreatedAt
	detail := site.SourceDetail{
		Source: site.Source{Source: exampleSource, Kind: exampleSource,
			Address: "https://catalogue.example/discovery/resources", LastAttemptAt: at, LastSuccessAt: &at,
			Partial: &isPartial, ResourceCount: n, UniqueCount: n, ServiceCount: n, Overlap: []site.SourceOverlap{}},
		Pulls: []site.SourcePull{{EndedAt: at, Outcome: site.PullAccepted, StatusCode: &status, Resources: &n,
			Skipped: new(int), Partial: &isPartial, SHA256: &sum}},
		Days: []site.SourceDay{{Date: since.UTC().Format("2006-01-02"), Resources: n, Listed: n}},
		Services: []site.SourceService{{Slug: x.service.Slug, Name: x.service.Name, Since: since,
			ResourceCount: n}},
		Dropped: []site.SourceDrop{{Slug: x.service.Slug, Name: x.service.Name, Endpoint: "GET /old", Since: since,
			Until: at}},
	}
	switch table {
	case "/days.csv":
		return encode.CSV(detail.Days)
	case "/pulls.csv":
		return encode.CSV(detail.Pulls)
	case "/dropped.csv":
		return encode.CSV(detail.Dropped)
	case "/services.csv":
		return encode.CSV(detail.Services)
	case "":
		body, err := encode.JSON(detail)
		return encode.AppendProvenance(body, provenance), err
	}
	return nil, nil
}
