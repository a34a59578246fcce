package build

import (
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/encode"
)

// tokenRow is a token of a network, as a row of v1/coverage/tokens.csv.
type tokenRow struct {
	Network      string `json:"network"`
	NetworkCAIP2 string `json:"network_caip2"`
	site.TokenCoverage
}

// facilitatorRow is a facilitator on a network, as a row of v1/coverage/facilitators.csv.
type facilitatorRow struct {
	Network      string `json:"network"`
	NetworkCAIP2 string `json:"network_caip2"`
	site.NetworkFacilitator
}

// priceRow is a class of prices of a category, as a row of v1/tags/prices.csv.
type priceRow struct {
	Tag string `json:"tag"`
	site.PriceClass
}

// weekRow is a week of prices of a category, as a row of v1/tags/weeks.csv.
type weekRow struct {
	Tag string `json:"tag"`
	site.CategoryWeek
}

// writeTables writes the lists that pages show as CSV, beside the JSON that contains them. Lists of services,
// facilitators, accounts and sources are data files.
func writeTables(s *site.Snapshot, add addFunc) error {
	var tokens []tokenRow
	var facilitators []facilitatorRow
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		for _, t := range n.Tokens {
			tokens = append(tokens, tokenRow{n.Network, n.NetworkCAIP2, t})
		}
		for _, f := range n.Facilitators {
			facilitators = append(facilitators, facilitatorRow{n.Network, n.NetworkCAIP2, f})
		}
	}
	var prices []priceRow
	var weeks []weekRow
	for i := range s.Tags {
		for _, w := range s.Tags[i].PriceWeeks {
			weeks = append(weeks, weekRow{s.Tags[i].Tag, w})
		}
		if of := s.Tags[i].Prices; of != nil {
			for _, c := range of.Classes {
				prices = append(prices, priceRow{s.Tags[i].Tag, c})
			}
		}
	}
	w := tableWriter{add: add}
	addTable(&w, "v1/networks.csv", s.Networks)
	addTable(&w, "v1/tags.csv", s.Tags)
	addTable(&w, "v1/tags/prices.csv", prices)
	addTable(&w, "v1/tags/weeks.csv", weeks)
	addTable(&w, "v1/incidents.csv", s.Incidents)
	addTable(&w, "v1/coverage/networks.csv", s.Coverage.Networks)
	addTable(&w, "v1/coverage/tokens.csv", tokens)
	addTable(&w, "v1/coverage/facilitators.csv", facilitators)
	addTable(&w, "v1/coverage/candidate_settlers.csv", s.Coverage.CandidateSettlers)
	addTable(&w, "v1/facilitators/matrix/facilitators.csv", s.Matrix.Facilitators)
	addTable(&w, "v1/facilitators/matrix/kinds.csv", s.Matrix.Kinds)
	addTable(&w, "v1/facilitators/matrix/settled.csv", s.Matrix.Settled)
	addTable(&w, "v1/flow/links.csv", s.Flow.Links)
	addTable(&w, "v1/flow/nodes.csv", s.Flow.Nodes)
	for i := range s.Facilitators {
		if f := &s.Facilitators[i]; f.FacilitatorID != matrixID {
			addFacilitatorTables(&w, f)
		}
	}
	for i := range s.Sources {
		of := &s.Sources[i]
		folder := tableFolder("source", of.Source.Source)
		addTable(&w, folder+"days.csv", of.Days)
		addTable(&w, folder+"pulls.csv", of.Pulls)
		addTable(&w, folder+"dropped.csv", of.Dropped)
		addTable(&w, folder+"services.csv", of.Services)
	}
	return w.err
}

func addFacilitatorTables(w *tableWriter, f *site.FacilitatorDetail) {
	folder := tableFolder("facilitator", f.FacilitatorID)
	addTable(w, folder+"timeseries.csv", f.Timeseries)
	addTable(w, folder+"chains.csv", f.Chains)
	addTable(w, folder+"services.csv", f.Services)
	supported := &site.FacilitatorSupported{} // if it was never asked, its tables are empty
	if f.Supported != nil {
		supported = f.Supported
	}
	addTable(w, folder+"kinds.csv", supported.Kinds)
	addTable(w, folder+"signers.csv", supported.Signers)
}

// tableFolder returns the folder of the tables beside the response of a route.
func tableFolder(route, id string) string {
	return strings.TrimSuffix(bare(route, id).Key(), ".json") + "/"
}

// tableWriter adds tables until one fails.
type tableWriter struct {
	add addFunc
	err error
}

func addTable[T any](w *tableWriter, key string, list []T) {
	if w.err != nil {
		return
	}
	text, err := encode.CSV(list)
	if err == nil {
		err = w.add(key, text)
	}
	if err != nil {
		w.err = fmt.Errorf("write %s: %w", key, err)
	}
}
