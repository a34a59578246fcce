package site

// Limits of the settlements of a service.
const (
	SettledPayerDays  = 90     // UTC days of rows by payer, including today
	SettledAmountDays = 30     // UTC days of rows by amount, including today
	SettledRows       = 20_000 // rows by payer and by amount of one account; older days are left out
)

// Settlements is the data of /v1/services/{slug}/settlements: the settlements from which the service's traction is
// computed. It counts settlements by measured facilitators in tokens worth one dollar each.
type Settlements struct {
	Slug       string             `json:"slug"`
	Recipients []SettledRecipient `json:"recipients"` // on measured networks, by network, then address
}

// SettledRecipient is a recipient whose settlements belong to the service.
type SettledRecipient struct {
	NetworkCAIP2 string `json:"network_caip2"`
	PayTo        string `json:"pay_to"` // in normal form
	// first UTC day that belongs to the service, beyond the contract; rows of earlier days do not count for it
	Since string `json:"since"`
	// last UTC day that belongs to the service; null while an active endpoint names the recipient
	Until *string `json:"until"`
	// how the volume is divided, oldest first; each share ends with its last day
	Shares []RecipientShare `json:"shares"`
	// slug of the service whose file has the rows: the first, by slug, of those that share the recipient
	RowsIn            string `json:"rows_in"`
	FirstSettlementAt *Time  `json:"first_settlement_at"` // null without rows
	// first day whose payers and amounts are complete; null if all are
	RowsFrom *string        `json:"rows_from"`
	Tokens   []SettledToken `json:"tokens"` // by facilitator, then token
}

// RecipientShare is the part of a recipient's volume that belongs to the service, up to a day.
type RecipientShare struct {
	Until        *string `json:"until"` // last UTC day; null for the present share
	ServiceCount int     `json:"service_count"`
	Place        int     `json:"place"` // of the service among them, by slug, from 0
}

// SettledToken is what one facilitator settled to the recipient in one token.
type SettledToken struct {
	FacilitatorID    string          `json:"facilitator_id"`
	TokenAddressNorm string          `json:"token_address_norm"`
	Decimals         int             `json:"decimals"` // a dollar has 10^decimals atomic units
	Days             []SettledDay    `json:"days"`     // all days with a settlement, oldest first
	Payers           []SettledPayer  `json:"payers"`   // of SettledPayerDays, by day, then payer
	Amounts          []SettledAmount `json:"amounts"`  // of SettledAmountDays, by day, then amount
}

// SettledDay sums the settlements of a UTC day.
type SettledDay struct {
	Date    string `json:"date"`
	TxCount int64  `json:"tx_count"`
	Amount  string `json:"amount"`  // atomic units, as in SettledPayer and SettledAmount
	LastAt  Time   `json:"last_at"` // of the last settlement
}

// SettledPayer sums the settlements of one payer on a UTC day.
type SettledPayer struct {
	Date    string `json:"date"`
	Payer   string `json:"payer"` // first 16 hexadecimal digits of the SHA-256 of the payer's address in normal form
	TxCount int64  `json:"tx_count"`
	Amount  string `json:"amount"`
}

// SettledAmount counts the settlements of one amount on a UTC day.
type SettledAmount struct {
	Date    string `json:"date"`
	Amount  string `json:"amount"`
	TxCount int64  `json:"tx_count"`
}
