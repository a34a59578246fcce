package vocabulary

import "tollbook/site"

// facilitatorFields describes the fields of facilitators, of the settlements behind a service's traction, and of the
// published tables. Its keys are those of serviceFields.
var facilitatorFields = map[string]Field{
	"facilitator_id":           {About: "Id of the facilitator"},
	"FacilitatorListItem.name": {About: "Name of the facilitator"},
	"volume_usd": {
		About: "Volume settled on that day, in US dollars; for a service with a shared recipient, its share",
	},
	"volume_usd_24h":   {About: "Volume settled in 24 hours, in US dollars"},
	"volume_usd_7d":    {About: "Volume settled in 7 days, in US dollars"},
	"volume_usd_all":   {About: "Volume settled since measurement began, in US dollars"},
	"tx_count":         {About: "Number of settlements on that day"},
	"tx_count_24h":     {About: "Number of settlements in 24 hours"},
	"tx_count_7d":      {About: "Number of settlements in 7 days"},
	"tx_count_all":     {About: "Number of settlements since measurement began"},
	"last_activity_at": {About: "Time of the newest settlement; null if none was observed"},
	"first_activity_at": {
		About: "Start of the UTC day of the first settlement; null if none was observed",
	},
	"avg_settlement_usd_30d": {
		About: "Average settlement over 30 days, in US dollars to six decimals, in tokens with a dollar value on " +
			"main networks; null without one",
	},
	"avg_settlement_usd_all": {About: "The same since measurement began"},
	"trend_7d_vs_prev_7d": {
		About: "Volume of the last 7 UTC days, including today, divided by the volume of the 7 days before; 1 is " +
			"steady; null without volume then, and until 14 days after the first settlement",
	},
	"FacilitatorDetail.trend_30d_vs_prev_30d": {
		About: "Volume of the last 30 UTC days, including today, divided by the volume of the 30 days before; null " +
			"without volume then, and until 60 days after the first settlement",
	},
	"listed_services":                {About: "How many listed services it settled payments for, and the largest"},
	"active_count_30d":               {About: "Number of them in 30 days; the same as service_count if it is known"},
	"all_time_count":                 {About: "Number of them ever; a lower bound"},
	"top":                            {About: "The first ten of services, each with its status"},
	"FacilitatorDetail.method":       {About: "How its settlements are found"},
	"FacilitatorDetail.caveat":       {About: "What the figures leave out, and why some are null"},
	"BuyersByChain.caveat":           {About: "How payers are counted"},
	"ListedServices.caveat":          {About: "How services are counted"},
	"FacilitatorDetail.series":       {About: "Days with a settlement on main networks, oldest first"},
	"FacilitatorPoint.network":       {About: "Abbreviation of the network; null for all networks together"},
	"FacilitatorPoint.network_caip2": {About: "CAIP-2 id of the network; null for all networks together"},
	"enabled":                        {About: "Whether the facilitator still uses the account"},
	"FacilitatorSettler.kind": {
		About: "What recognises a settlement: the account that sent it, or a mark that the payer's software writes " +
			"into it: the first five bytes of its memo, or its source tag. Any payer can write a mark",
		Values: site.SettlerKinds,
	},
	"FacilitatorSettler.last_seen_at": {
		About: "When it sent its last settlement; null if it sent none, or if settlements are not measured",
	},
	"FacilitatorSettler.source": {
		About: "Where the account is known from: list for a list of facilitators, operator if only the operator of " +
			"this directory accepted it",
		Values: []string{site.SettlerListed, site.SettlerAccepted},
	},
	"token_name":     {About: "Name of the account's only token; null with several, or if it is not known"},
	"token_decimals": {About: "Its token has 10^token_decimals atomic units; null like token_name"},
	"settler_count":  {About: "Number of accounts that settle for the facilitator; a mark counts as one"},
	"verification": {
		About:  "How its settlements are known: on-chain if they are measured, listed if they are not",
		Values: []string{site.VerificationOnChain, site.VerificationListed},
	},
	"timeseries": {About: "With include=timeseries: one point per UTC day, oldest first, today last"},
	"chains":     {About: "With include=chains: volume and settlements by network and token"},

	"AssetTables.networks": {About: "Networks whose names are recognised, by CAIP-2 id"},
	"assets":               {About: "Tokens that are recognised, by network, then address"},
	"addresses":            {About: "Forms of addresses by namespace; * stands for every other namespace"},
	"free_hosts": {
		About: "Domains of free hosting and development tunnels; a subdomain of one is a free host too",
	},
	"KnownNetwork.aliases": {About: "Names that mean this network, in lower case; names are compared without case"},
	"also_caip2":           {About: "Other CAIP-2 ids of the same network"},
	"issuer":               {About: "Account that issues the currency on the XRP Ledger; null for other tokens"},
	"peg": {
		About: "Currency of which one token is worth one unit; an amount in a token with the peg USD has a price " +
			"in dollars; null if unknown",
	},
	"counts_as_usd":     {About: "Settlements in the token count as volume, one dollar each"},
	"eip712_name":       {About: "Name in the token's EIP-712 domain; null if not verified, or without one"},
	"eip712_version":    {About: "Version in the token's EIP-712 domain; null if not verified, or without one"},
	"permit2":           {About: "The token is paid through Permit2, because it lacks EIP-3009"},
	"configured":        {About: "The operator of the directory configured the token"},
	"namespace":         {About: "Part of a CAIP-2 id before the colon"},
	"recipient_pattern": {About: "Regular expression that every recipient matches"},
	"recipient_rule":    {About: "What the pattern does not say, such as a checksum; null if it says all"},
	"asset_pattern":     {About: "Regular expression that every asset matches"},
	"asset_rule":        {About: "What the pattern of assets does not say; null if it says all"},
	"burn_addresses":    {About: "Recipients from which nobody can spend, in normal form"},
	"normal_form":       {About: "The form in which equal addresses are equal texts"},

	"Settlements.recipients": {
		About: "Recipients on measured networks whose settlements belong or belonged to the service, by network, " +
			"then address",
	},
	"PricingEntry.settled": {About: "What calls cost; null unless the price is a maximum"},
	"SettledPrice.median_usd": {
		About: "Half of the settlements are not higher, in US dollars; null below 20 settlements, and if they cannot " +
			"be told from others",
	},
	"SettledPrice.p95_usd": {About: "95 % of the settlements are not higher, in US dollars; null as median_usd"},
	"SettledPrice.calls": {
		About: "Settlements since that day, one for each call; null if they cannot be told from others",
	},
	"SettledPrice.window_days": {About: "UTC days of the window, including today"},
	"SettledPrice.since": {
		About: "First UTC day of the window on which the recipient was paid for this price alone", Format: "date"},
	"SettledPrice.reason": {About: "Why the median is null; null if it is known"},
	"SettledRecipient.until": {
		About: "Last UTC day whose settlements belong to the service; null while an active endpoint names the " +
			"recipient", Format: "date",
	},
	"shares": {
		About: "How the recipient's volume is divided, oldest first; a share ends with its last day",
	},
	"RecipientShare.until":         {About: "Last UTC day of the share; null for the present one", Format: "date"},
	"RecipientShare.service_count": {About: "Number of services among which the volume is divided"},
	"place":                        {About: "Place of the service among them, by slug, from 0"},
	"rows_in": {
		About: "Slug of the service whose file has the recipient's rows: the first, by slug, that the recipient " +
			"belongs or belonged to",
	},
	"SettledRecipient.first_settlement_at": {
		About: "Time of the first settlement to the recipient; null without rows",
	},
	"rows_from": {
		About: "First UTC day whose rows by payer and by amount are complete, for a recipient with more than " +
			"20,000 of them; null if all are", Format: "date",
	},
	"SettledRecipient.tokens": {About: "Rows by facilitator, then token; empty if another file has the rows"},
	"SettledToken.days":       {About: "Every UTC day with a settlement, oldest first"},
	"payers":                  {About: "Rows by payer for 90 UTC days, by day, then payer"},
	"amounts":                 {About: "Rows by amount for 30 UTC days, by day, then amount"},
	"KnownAsset.decimals":     {About: "A token has 10^decimals atomic units; 0 for tokens with decimal amounts"},
	"SettledToken.decimals":   {About: "A US dollar has 10^decimals atomic units"},
	"last_at":                 {About: "Time of the day's last settlement"},
	"payer": {
		About: "First 16 hexadecimal digits of the SHA-256 of the payer's address in normal form",
	},
	"SettledDay.amount":    {About: "Sum in atomic units"},
	"SettledPayer.amount":  {About: "Sum in atomic units"},
	"SettledAmount.amount": {About: "Amount of each settlement, in atomic units"},
}
