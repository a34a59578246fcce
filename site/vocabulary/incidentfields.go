package vocabulary

import "tollbook/site"

// incidentFields describes the fields of incidents, which go beyond the contract.
var incidentFields = map[string]Field{
	"offline_since": {About: "When the checks began to fail of a service that is offline; null for another status"},
	"incidents":     {About: "The newest incidents of the last 90 UTC days, newest first, at most 20"},
	"started_at":    {About: "The first failed check, or the beginning of its UTC day if precision is day"},
	"Incident.ended_at": {
		About: "The first successful check after it, or the beginning of its UTC day if that check is not stored; " +
			"null before",
	},
	"duration_seconds": {About: "From started_at to ended_at; null before the end"},
	"ongoing": {
		About: "Whether the checks still fail; false if it is not known, because the service is not checked",
	},
	"Incident.kind": {
		About:  "What the status became: degraded after two failed checks, offline from the third one on",
		Values: []string{site.StatusDegraded, site.StatusOffline},
	},
	"failed_checks": {About: "Number of counted checks that failed"},
	"longest_gap_seconds": {
		About: "Longest time between two checks of the incident, in which nothing is known; null if precision is day",
	},
	"precision": {
		About:  "Whether single checks are known, or only UTC days on which every check failed",
		Values: []string{site.PrecisionCheck, site.PrecisionDay},
	},
	"cause": {
		About: "own, unless many services of a host, facilitator or network failed at the same time; measurement if " +
			"most services of the directory did, which is a fault of its own",
		Values: site.Causes,
	},
	"shared":              {About: "The services that failed at the same time; null if the cause is own"},
	"SharedOutage.name":   {About: "The host, the id of the facilitator or the network; null for measurement"},
	"SharedOutage.failed": {About: "Services of the group with an incident that began from from to to"},
	"SharedOutage.services": {
		About: "Services of the group that are visited and had no incident before",
	},
	"SharedOutage.from": {About: "When the first of these incidents began"},
	"SharedOutage.to":   {About: "When the last of these incidents began"},
}
