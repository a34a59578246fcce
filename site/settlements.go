package site

// Limits of the settlements of a service.
const (
	SettledPayerDays  = 90     // UTC days of rows by payer, including today
	SettledAmountDays = 30     // UTC days of rows by amount, including today
	SettledRows       = 20_000 // rows by payer and by amount of one account; older days are left out
)

// Settlements is the settlements from which a service's traction is computed.
//
// It is the data of /v1/services/{slug}/settlements. It counts settlements by measured facilitators in tokens worth one
// dollar each.
type Settlements struct {
	// As [ServiceListItem.Slug].
	Slug string `json:"slug"`
	// Recipients on measured networks whose settlements belong or belonged to the service, by network, then address.
	Recipients []SettledRecipient `json:"recipients"`
}

// SettledRecipient is a recipient whose settlements belong to the service.
type SettledRecipient struct {
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// As [SharedRecipient.PayTo].
	PayTo string `json:"pay_to"`
	// First UTC day that belongs to the service; rows of earlier days do not count for it.
	Since string `json:"since"`
	// Last UTC day whose settlements belong to the service; null while an active endpoint names the recipient.
	Until *string `json:"until" format:"date"`
	// How the recipient's volume is divided, oldest first; a share ends with its last day.
	Shares []RecipientShare `json:"shares"`
	// Slug of the service whose file has the recipient's rows: the first, by slug, that the recipient belongs or
	// belonged to.
	RowsIn string `json:"rows_in"`
	// Time of the first settlement to the recipient; null without rows.
	FirstSettlementAt *Time `json:"first_settlement_at"`
	// First UTC day whose rows by payer and by amount are complete, for a recipient with more than 20,000 of them; null
	// if all are.
	RowsFrom *string `json:"rows_from" format:"date"`
	// Rows by facilitator, then token; empty if another file has the rows.
	Tokens []SettledToken `json:"tokens"`
}

// RecipientShare is the part of a recipient's volume that belongs to the service, up to a day.
type RecipientShare struct {
	// Last UTC day of the share; null for the present one.
	Until *string `json:"until" format:"date"`
	// Number of services among which the volume is divided.
	ServiceCount int `json:"service_count"`
	// Place of the service among them, by slug, from 0.
	Place int `json:"place"`
}

// SettledToken says what one facilitator settled to the recipient in one token.
type SettledToken struct {
	FacilitatorID    string `json:"facilitator_id"`
	TokenAddressNorm string `json:"token_address_norm"`
	// A US dollar has 10^decimals atomic units.
	Decimals int `json:"decimals"`
	// Every UTC day with a settlement, oldest first.
	Days []SettledDay `json:"days"`
	// Rows by payer for 90 UTC days, by day, then payer.
	Payers []SettledPayer `json:"payers"`
	// Rows by amount for 30 UTC days, by day, then amount.
	Amounts []SettledAmount `json:"amounts"`
}

// SettledDay is the settlements of a UTC day.
type SettledDay struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// As [TokenPoint.TxCount].
	TxCount int64 `json:"tx_count"`
	// Sum in atomic units.
	Amount string `json:"amount"`
	// Time of the day's last settlement.
	LastAt Time `json:"last_at"`
}

// SettledPayer is the settlements of one payer on a UTC day.
type SettledPayer struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// First 16 hexadecimal digits of the SHA-256 of the payer's address in normal form.
	Payer string `json:"payer"`
	// As [TokenPoint.TxCount].
	TxCount int64 `json:"tx_count"`
	// As [SettledDay.Amount].
	Amount string `json:"amount"`
}

// SettledAmount is the settlements of one amount on a UTC day.
type SettledAmount struct {
	// As [TokenPoint.Date].
	Date string `json:"date"`
	// Amount of each settlement, in atomic units.
	Amount string `json:"amount"`
	// As [TokenPoint.TxCount].
	TxCount int64 `json:"tx_count"`
}
