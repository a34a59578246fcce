package vocabulary

// aggregateFields describes the fields of aggregates that go beyond the contract.
var aggregateFields = map[string]Field{
	"StatusService.listed": {
		About: "Whether the service is listed; false if the operator of this directory retired it"},
	"listed_total":         {About: "Number of services that are not retired"},
	"delisted":             {About: "Number of retired services, whose history is kept"},
	"listed_offline":       {About: "Number of offline services that are not retired"},
	"offline_30d_plus":     {About: "Number of offline services without a success for 30 days, of those not retired"},
	"verified_count":       {About: "Number of verified services"},
	"payment_ready_count":  {About: "Number of services that can be paid"},
	"listing_growth":       {About: "Number of services that were listed in the last days"},
	"new_7d":               {About: "Number of services that were listed in the last 7 days"},
	"new_30d":              {About: "Number of services that were listed in the last 30 days"},
	"computed_at":          {About: "When the facts behind the statistics were read"},
	"on_chain_measurement": {About: "Since when settlements are counted"},
	"settlement_count_30d": {About: "Number of settlements in 30 UTC days"},
	"measured_services":    {About: "Number of services whose traction is measured"},
	"oldest_cursor_age_seconds": {
		About: "Age of the newest block that was read, on the network where it is oldest; null without one",
	},
	"facilitator_volume_usd_30d": {
		About: "Volume of all measured facilitators in 30 UTC days, in US dollars; null unless a network is measured",
	},
	"total_sync_groups":       {About: "Number of networks whose settlements are read"},
	"stale_sync_groups":       {About: "Number of those of which no block of the last hour was read"},
	"total_facilitators":      {About: "Number of facilitators with an enabled account on such a network"},
	"stale_facilitators":      {About: "Number of facilitators with an enabled account on a stale network"},
	"facilitator_volume_note": {About: "What the volume of facilitators contains"},
	"avg_uptime_method":       {About: "How the average uptimes are computed"},
	"total_networks_note":     {About: "Which networks are counted"},
	"all_networks_measured_since": {
		About: "Since when settlements on all of the networks that are read are counted; null without one",
	},
	"OnChainMeasurement.measured_since": {
		About: "Since when settlements on the first of the networks that are read are counted; null without one",
	},
	"OnChainMeasurement.note": {About: "What the two times mean"},
	"coverage_of_measured_flow_pct": {
		About: "Volume of measured services as a percentage of the volume of all measured facilitators; null if it " +
			"is not a part of it, because a service has figures of an earlier build",
		Max: 100,
	},
	"measured_flow_freshness": {About: "How far behind the reading of networks is"},
	"top_1_service_share_pct": {
		About: "Share of the service with the largest volume in the volume of all measured services, as a percentage",
		Max:   100,
	},
	"top_10_services_share_pct": {
		About: "Share of the ten services with the largest volumes in the volume of all measured services, as a " +
			"percentage",
		Max: 100,
	},
	"AggregateStats.traction": {About: "Settlements of all services whose traction is measured"},
	"DirectoryTraction.unique_buyers_30d": {
		About: "Always null, because buyers of different services are not compared",
	},
	"DirectoryTraction.measured_networks": {About: "Number of networks whose settlements are counted"},
	"DirectoryTraction.volume_usd_30d": {
		About: "Volume of all measured services in 30 UTC days, in US dollars; null unless a network is measured",
	},
	"DirectoryTraction.method": {About: "How the values are summed"},
	"DirectoryTraction.caveat": {About: "What the values do not contain"},
}
