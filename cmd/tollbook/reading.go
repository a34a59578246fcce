package main

import (
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
)

// readings say in words how a word of a search was read. A word that is read as it is needs none.
var readings = map[string]string{
	site.ReadSynonym:   "%s also finds %s, which means the same",
	site.ReadPrefix:    "no service has the word %s; words that begin with it are found",
	site.ReadCorrected: "no service has the word %s; %s is searched instead",
	site.ReadUnknown:   "no service has the word %s",
}

// containsWords reports whether a text has each of some words, so that "speech to text" is no news to "speech text".
func containsWords(text, words string) bool {
	all := strings.Fields(text)
	return !slices.ContainsFunc(strings.Fields(words), func(w string) bool { return !slices.Contains(all, w) })
}

// addReadings adds how the words of a search were read.
func (p *page) addReadings(list []site.Reading) {
	for i := range list {
		format, ok := readings[list[i].As]
		if !ok || i >= endpointLines || list[i].To == list[i].Words ||
			list[i].As == site.ReadSynonym && containsWords(strings.ReplaceAll(list[i].To, "-", " "), list[i].Words) {
			continue
		}
		args := []any{quoted(list[i].Words)}
		if strings.Count(format, "%s") == 2 {
			args = append(args, quoted(strings.ReplaceAll(list[i].To, "-", " ")))
		}
		p.wrap("  ", fmt.Sprintf(format, args...))
	}
}
