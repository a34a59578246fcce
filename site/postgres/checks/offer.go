package checks

// Offer is a way to pay an endpoint over another protocol than x402, as package rail reads it.
type Offer struct {
	Protocol          string `json:"protocol"`
	Scheme            string `json:"scheme"`
	Network           string `json:"network"`
	NetworkCAIP2      string `json:"network_caip2,omitempty"` // "" if the network has none
	Asset             string `json:"asset"`
	Amount            string `json:"amount"`
	PayTo             string `json:"pay_to,omitempty"` // "" if the offer names nobody
	MaxTimeoutSeconds *int   `json:"max_timeout_seconds,omitempty"`
	Variable          bool   `json:"variable,omitempty"` // the amount is not that of a call
}
