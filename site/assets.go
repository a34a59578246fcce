package site

// AssetTables is the data of /v1/assets: the tables by which payment options are judged and settlements counted.
type AssetTables struct {
	Networks  []KnownNetwork `json:"networks"`  // by CAIP-2 id
	Assets    []KnownAsset   `json:"assets"`    // by network, then address in normal form
	Addresses []AddressForm  `json:"addresses"` // by namespace; "*" is last
	FreeHosts []string       `json:"free_hosts"`
}

// KnownNetwork is a network whose names are recognised.
type KnownNetwork struct {
	CAIP2        string   `json:"caip2"`
	Name         string   `json:"name"`
	Abbreviation string   `json:"abbreviation"`
	ChainType    string   `json:"chain_type"`
	IsMainnet    bool     `json:"is_mainnet"`
	Aliases      []string `json:"aliases"`    // in lower case
	AlsoCAIP2    []string `json:"also_caip2"` // other proper CAIP-2 ids
}

// KnownAsset is a token that is recognised.
type KnownAsset struct {
	NetworkCAIP2     string  `json:"network_caip2"`
	TokenAddress     string  `json:"token_address"` // as its chain writes it
	TokenAddressNorm string  `json:"token_address_norm"`
	AssetName        string  `json:"asset_name"`
	Decimals         int     `json:"decimals"`
	Issuer           *string `json:"issuer"` // of an issued currency of the XRP Ledger
	Peg              *string `json:"peg"`    // currency; prices in tokens with the peg USD have a price in dollars
	CountsAsUSD      bool    `json:"counts_as_usd"`
	EIP712Name       *string `json:"eip712_name"` // null if not verified, or without one
	EIP712Version    *string `json:"eip712_version"`
	Permit2          bool    `json:"permit2"`
	Configured       bool    `json:"configured"` // the operator of the directory names it
}

// AddressForm describes the addresses of networks of one CAIP-2 namespace.
type AddressForm struct {
	Namespace        string   `json:"namespace"`
	RecipientPattern string   `json:"recipient_pattern"`
	RecipientRule    *string  `json:"recipient_rule"`
	AssetPattern     string   `json:"asset_pattern"`
	AssetRule        *string  `json:"asset_rule"`
	BurnAddresses    []string `json:"burn_addresses"`
	NormalForm       string   `json:"normal_form"`
}
