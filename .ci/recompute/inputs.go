package main

// The inputs of the recomputation, apart from those that other parts list: what operators and services said, what
// visits recorded, and the texts of documents.
func init() {
	detail := "v1/services/{slug}.json"
	addInputs(detail, "said by the operator or the submitter", `data.name data.description data.base_url
		data.website_url data.category data.source data.created_at data.check_interval_minutes data.verified_until`)
	addInputs(detail, "said by the service", "data.endpoints[].description data.endpoints[].mime_type")
	addInputs(detail, "the time of an event", "data.endpoints[].first_seen_at data.endpoints")
	addInputs(detail, "terms of use", "data.provenance.*")
	addInputs("v1/index.json", "terms of use", "provenance.*")
	addInputs(detail, "remarks about the checks of other protocols", `data.rails[].checks[].label
		data.rails[].checks[].reason data.rails[].checks[].mend`)
	addInputs(detail, "the answer of a model", `data.assessment.model_id data.assessment.prompt_version
		data.assessment.synthesis*`)
	for _, file := range []string{"v1/services/{slug}/checks", "v1/checks"} {
		addInputs(file+"/block={n}.json", "what a visit found", "data[].*")
		addInputs(file+"/log.json", "deleted rows, and closed hours", "first packs")
	}
	addInputs("v1/changes/block={n}.json", "what two visits found", "data[].*")
	for _, file := range []string{"v1/changes", "v1/changes/service={slug}"} {
		addInputs(file+"/log.json", "deleted rows, and closed hours", "packs types.*")
	}
	for _, series := range []string{"price", "scores", "volume", "buyers"} {
		addInputs("v1/services/{slug}/"+series+"/period=all.json", "a text", "caveat")
	}
	addInputs(detail, "said by public sources", "data.listed_by*")
	addInputs("v1/sources.json", "said by public sources", "data*")
	addInputs("v1/sources/{name}.json", "said by public sources", "data*")
	addInputs("v1/stats.json", "said by owners", "data.opted_out")
	addInputs("v1/stats.json", "a text", `data.facilitator_volume_note data.avg_uptime_method data.total_networks_note
		data.on_chain_measurement.note
		data.traction.method data.traction.caveat`)
	addInputs("v1/networks.json", "facts about a network", "data[].chain_type data[].explorer_url data[].address_url")
	addInputs("v1/assets.json", "tables", "*")
	for _, list := range []string{"v1/facilitators.json", "v1/facilitators/{list}"} {
		addInputs(list, "an empty list", "data")
	}
	for _, include := range []string{"chains", "chains~2ctimeseries", "timeseries"} {
		addInputs("v1/facilitators/{list}/include="+include, "an empty list", "data")
	}
	addInputs("v1/lookup/url/{hash}", "an empty list", "data[].data.prices")
	addInputs("v1/facilitators/{id}.json", "what facilitators answered", "data.facilitator_url data.supported*")
	addInputs("v1/facilitators/{matrix}.json", "what facilitators announce", `data.as_of data.kinds[].asset_name
		data.settled[].asset_name`)
	addInputs("v1/snapshots.json", "earlier snapshots", "data*")
	addInputs("v1/openapi.json", "a document", "*")
	addInputs("v1/data.json", "what the tables answer", "data*")
	addInputs("v1/routes.json", "a document", "*")
	addInputs("data/datapackage.json", "describes tables, which package build computes again in duckdb_test.go", "*")
	addInputs("incidents.json", "texts of the incidents, which package incidents recomputes", "*")
	for _, file := range []string{"feed.json", "services/{slug}/changes.json"} {
		addInputs(file, "texts and addresses", `version title description home_page_url feed_url language authors[].*
			items items[].id items[].url items[].title items[].content_text`)
	}
}
