package site

// Provenance contains where a record or a response comes from and how to cite it. That of a response is the same in all
// responses of a snapshot.
type Provenance struct {
	License             string `json:"license"`
	AttributionRequired bool   `json:"attribution_required"`
	Attribution         string `json:"attribution"`
	CiteAs              string `json:"cite_as"`
	Source              string `json:"source"`
}

// NewProvenance returns the provenance of data of the directory at baseURL.
func NewProvenance(baseURL, citeAs, source string) Provenance {
	return Provenance{License: "CC-BY-4.0", AttributionRequired: true, Attribution: "Tollbook, " + baseURL,
		CiteAs: citeAs, Source: source}
}
