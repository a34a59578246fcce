package site

// Provenance says where a record or a response comes from and how to cite it.
//
// That of a response is the same in all responses of a snapshot.
type Provenance struct {
	// Licence of the data.
	License string `json:"license"`
	// Whether the licence requires attribution.
	AttributionRequired bool `json:"attribution_required"`
	// Text that names the source.
	Attribution string `json:"attribution"`
	// Public page to cite.
	CiteAs string `json:"cite_as" format:"uri"`
	// How the facts were collected.
	Source string `json:"source"`
}

// NewProvenance returns the provenance of data of the directory at baseURL.
func NewProvenance(baseURL, citeAs, source string) Provenance {
	return Provenance{License: "CC-BY-4.0", AttributionRequired: true, Attribution: "Tollbook, " + baseURL,
		CiteAs: citeAs, Source: source}
}
