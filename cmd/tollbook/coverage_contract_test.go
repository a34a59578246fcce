package main

// init adds the fields on settlements that extend the contract, in the notation of contract_test.go.
func init() {
	for name, fields := range map[string]string{
		"FacilitatorDetail": facilitatorFields + "\ntimeseries VolumePoint[]\nchains FacilitatorChain[]" + `
			settlers FacilitatorSettler[]
			buyers FacilitatorBuyers[]
			service_count integer
			services FacilitatorService[]`,
		"FacilitatorSettler": `
			network string
			network_caip2 string
			address string
			tokens string[]
			since date-time|null
			deprecated boolean`,
		"FacilitatorBuyers": `
			network string
			network_caip2 string
			token_address string
			asset_name string
			unique_buyers_7d integer
			unique_buyers_30d integer
			unique_buyers_all integer`,
		"FacilitatorService": `
			slug string
			name string
			volume_usd_30d number
			tx_count_30d integer`,
		"Coverage on chain": `
			as_of date-time
			networks NetworkCoverage[]
			candidate_settlers CandidateSettler[]
			volume_30d VolumeQuality
			operators Operators`,
		"NetworkCoverage": `
			network string
			network_caip2 string
			name string
			is_mainnet boolean|null
			service_count integer
			measured boolean
			measured_since date-time|null
			cursor ChainCursor|null
			head_block integer|null
			head_polled_at date-time|null
			filling integer|null
			tokens TokenCoverage[]
			timeseries VolumePoint[]`,
		"ChainCursor": `
			block integer|null
			time date-time|null
			age_seconds integer|null`,
		"TokenCoverage": `
			token_address string
			asset_name string
			authorizations_30d integer
			attributed_30d integer
			unattributed_30d integer
			unattributed_share number|null`,
		"CandidateSettler": `
			network string
			network_caip2 string
			address string
			token_address string
			asset_name string
			payment_count integer
			volume_usd number|null
			recipient_count integer
			first_day string
			last_day string`,
		"VolumeQuality": `
			raw VolumeSum
			self_payment VolumeSum
			single_payer VolumeSum
			without VolumeSum
			rule string`,
		"VolumeSum": `
			volume_usd number
			tx_count integer`,
		"Operators": `
			service_count integer
			operator_count integer
			groups OperatorGroup[]
			rule string`,
		"OperatorGroup": `
			service_count integer
			services SharedWith[]
			recipients SharedRecipient[]`,
		"SharedRecipient": `
			network_caip2 string
			pay_to string
			service_count integer`,
	} {
		contract[name] = fields
	}
	endpoints = append(endpoints, struct{ path, data, meta string }{"/v1/coverage", "Coverage on chain", ""})
}
