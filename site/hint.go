package site

// Hint is something that makes a service harder to find, to read or to pay for some of its buyers, with the fix. It
// never affects a grade, a status or an order.
type Hint struct {
	// As [RiskFlag.Code].
	Code string `json:"code"`
	// What is wrong, in a few words.
	Label string `json:"label"`
	// Who cannot do what because of it.
	Meaning string `json:"meaning"`
	// What to change, in words.
	Fix string `json:"fix"`
	// The fix as code, one text for each program that the responses name; empty if they name none.
	Snippets []HintSnippet `json:"snippets"`
	// The endpoints that it concerns, by path, then method; at most HintEndpoints.
	Endpoints []HintEndpoint `json:"endpoints"`
	// Number of endpoints that it concerns.
	EndpointCount int `json:"endpoint_count"`
}

// HintEndpoints is the most endpoints that a hint names.
const HintEndpoints = 10

// HintSnippet is the fix of a hint for one program.
type HintSnippet struct {
	// Name of the program or library that the responses name, such as Express.
	Stack string `json:"stack"`
	// The code or configuration to add.
	Text string `json:"text"`
}

// HintEndpoint is an endpoint that a hint concerns.
type HintEndpoint struct {
	// As [PayToChange.Endpoint].
	Endpoint string `json:"endpoint"`
	// As [EvidenceWarning.Detail].
	Detail *string `json:"detail"`
}
