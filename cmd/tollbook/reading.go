package main

import (
	"fmt"
	"strings"

	"tollbook/site"
)

// readings say in words how a word of a search was read. A word that is read as it is needs none.
var readings = map[string]string{
	site.ReadSynonym:   "%s is also searched by its synonyms (%s)",
	site.ReadPrefix:    "no service has the word %s; words that begin with it are found",
	site.ReadCorrected: "no service has the word %s; %s is searched instead",
	site.ReadUnknown:   "no service has the word %s",
}

// addReadings adds how the words of a search were read.
func (p *page) addReadings(list []site.Reading) {
	for i := range list {
		format, ok := readings[list[i].As]
		if !ok || i >= endpointLines || list[i].To == list[i].Words {
			continue
		}
		args := []any{quoted(list[i].Words)}
		if strings.Count(format, "%s") == 2 {
			args = append(args, quoted(strings.ReplaceAll(list[i].To, "-", " ")))
		}
		p.wrap("  ", fmt.Sprintf(format, args...))
	}
}
