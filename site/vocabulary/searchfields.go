package vocabulary

import "tollbook/site"

// searchFields describes the fields of terms, and of what a search finds. Its keys are those of serviceFields.
var searchFields = map[string]Field{
	"TermIndex.services": {About: "Number of services"},
	"TermIndex.shards":   {About: "Number of terms in each file, by the file's name"},
	"term":               {About: "Stem of a word, or concept- and the name of a concept"},
	"idf": {
		About: "Inverse document frequency times 100: the natural logarithm of 1 + (services - n + 0.5) / (n + 0.5), " +
			"if n services have the term",
	},
	"gaps": {
		About: "Place of the first service with the term, in the order of the slugs in the index, then the distance " +
			"of each further one from the one before",
	},
	"weights":          {About: "How much of idf each of these services gets, in percent from 1 to 100"},
	"Vocabulary.terms": {About: "Number of services that have each word, by the word's stem"},

	"SearchResult.score": {
		About: "How well it matches, in thousandths of the score of a service in which every term has its whole " +
			"weight; 0 without a query", Max: 1000,
	},
	"SearchResult.matched": {About: "Members of the service that have a term of the query",
		Values: site.SearchFields},
	"SearchResult.endpoints": {
		About: "Up to three endpoints that pass the filters by network, method and price, those that match the query " +
			"first",
	},
	"SearchEndpoint.matched": {About: "Members of the endpoint that have a term of the query",
		Values: []string{site.FieldPath, site.FieldDescription}},
	"read_as": {About: "How each word or phrase of the query was read"},
	"SearchMeta.without": {
		About: "If no service matches: by each filter of the request, how many match without that filter",
	},
	"facets": {
		About: "By category, network, protocol and status: how many services have each value and pass all other " +
			"filters; only with include=facets",
	},
	"Reading.words": {About: "The words, in lower case and without diacritics"},
	"as": {
		About: "exact: the word itself with any ending; synonym: a concept, whatever a service calls it; prefix: " +
			"words that begin with it; corrected: a word that differs in one letter; ignored: a word that says " +
			"nothing; unknown: no service has it",
		Values: site.Readings,
	},
	"Reading.to": {About: "The concept, or the corrected word"},
}
