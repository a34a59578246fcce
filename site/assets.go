package site

// AssetTables is the tables by which payment options are judged and settlements counted.
type AssetTables struct {
	// Networks whose names are recognised, by CAIP-2 id.
	Networks []KnownNetwork `json:"networks"`
	// Tokens that are recognised, by network, then address.
	Assets []KnownAsset `json:"assets"`
	// Forms of addresses by namespace; * stands for every other namespace.
	Addresses []AddressForm `json:"addresses"` // by namespace; "*" is last
	// Domains of free hosting and development tunnels; a subdomain of one is a free host too.
	FreeHosts []string `json:"free_hosts"`
}

// KnownNetwork is a network whose names are recognised.
type KnownNetwork struct {
	CAIP2 string `json:"caip2"`
	// As [Network.Name].
	Name         string `json:"name"`
	Abbreviation string `json:"abbreviation"`
	ChainType    string `json:"chain_type"`
	// As [Network.IsMainnet].
	IsMainnet bool `json:"is_mainnet"`
	// Names that mean this network, in lower case; names are compared without case.
	Aliases []string `json:"aliases"`
	// Other CAIP-2 ids of the same network.
	AlsoCAIP2 []string `json:"also_caip2"`
}

// KnownAsset is a token that is recognised.
type KnownAsset struct {
	// As [PricingEntry.NetworkCAIP2].
	NetworkCAIP2 string `json:"network_caip2"`
	// Address of the token, as its chain writes it.
	TokenAddress string `json:"token_address"`
	// The same address in normal form.
	TokenAddressNorm string `json:"token_address_norm"`
	// As [PricingEntry.AssetName].
	AssetName string `json:"asset_name"`
	// A token has 10^decimals atomic units; 0 for tokens with decimal amounts.
	Decimals int `json:"decimals"`
	// Account that issues the currency on the XRP Ledger; null for other tokens.
	Issuer *string `json:"issuer"`
	// Currency of which one token is worth one unit; an amount in a token with the peg USD has a price in dollars; null
	// if unknown.
	Peg *string `json:"peg"`
	// Settlements in the token count as volume, one dollar each.
	CountsAsUSD bool `json:"counts_as_usd"`
	// Name in the token's EIP-712 domain; null if not verified, or without one.
	EIP712Name *string `json:"eip712_name"`
	// Version in the token's EIP-712 domain; null if not verified, or without one.
	EIP712Version *string `json:"eip712_version"`
	// The token is paid through Permit2, because it lacks EIP-3009.
	Permit2 bool `json:"permit2"`
	// The operator of the directory configured the token.
	Configured bool `json:"configured"`
}

// AddressForm is the form of addresses on the networks of one CAIP-2 namespace.
type AddressForm struct {
	// Part of a CAIP-2 id before the colon.
	Namespace string `json:"namespace"`
	// Regular expression that every recipient matches.
	RecipientPattern string `json:"recipient_pattern"`
	// What the pattern does not say, such as a checksum; null if it says all.
	RecipientRule *string `json:"recipient_rule"`
	// Regular expression that every asset matches.
	AssetPattern string `json:"asset_pattern"`
	// What the pattern of assets does not say; null if it says all.
	AssetRule *string `json:"asset_rule"`
	// Recipients from which nobody can spend, in normal form.
	BurnAddresses []string `json:"burn_addresses"`
	// The form in which equal addresses are equal texts.
	NormalForm string `json:"normal_form"`
}
