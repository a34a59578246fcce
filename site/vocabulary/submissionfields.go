package vocabulary

import "tollbook/site"

// submissionFields describes the fields of submissions, suggestions and re-checks. Its keys are those of serviceFields.
var submissionFields = map[string]Field{
	"Submission.url": {
		About:  "Base URL of the service; free hosts, tunnels and private addresses are refused",
		Format: uri,
	},
	"Submission.email":        {About: "Contact address of the submitter; never published", Format: "email"},
	"Submission.service_name": {About: "Name of the service, up to 100 characters"},
	"Submission.description":  {About: "What the service does, up to 2,000 characters"},
	"Submission.website_url":  {About: "Public website; free hosts and tunnels are refused", Format: uri},
	"Submission.category": {
		About: "A category in use, or one of AI, Blockchain, Compute, Content, Data, Finance, Other, Verification",
	},
	"Submission.endpoints": {
		About: "1 to 25 paths to probe, up to 500 bytes each: \"/quote\", or \"POST /search\" if the method matters",
	},
	"Submission.notes": {About: "Notes for the reviewer, up to 2,000 characters"},
	"Suggestion.text":  {About: "What the reader suggests, up to 2,000 characters; white space around it is removed"},
	"Suggestion.category": {
		About: "What it is about: a service to list, a correction of what is published, a feature of the directory, " +
			"or something else, which is the default",
		Values: site.SuggestionCategories,
	},
	"Suggestion.email": {About: "Address for an answer; never published", Format: "email"},
	"suggestion_id":    {About: "Id of the suggestion", Format: uuid},
	"SuggestionResult.received_at": {
		About: "When the suggestion was received, for the first time if it was sent twice",
	},
	"RecheckResult.last_checked_at": {About: "When the service was checked last; null if it never was"},
	"next_check_at": {
		About: "When the service is due for its next visit; a visit waits until its host may be asked",
	},
	"next_build_at": {
		About: "When the next snapshot is due, which contains the result; null if that is not known",
	},
	"checks_url": {About: "Path of the service's checks, which contain the result after the next build"},
	"submission_id": {
		About:  "Id of the submission; keep it, since only the submitter receives it",
		Format: uuid,
	},
	"SubmissionResult.status": {
		About:  "Status of the submission: it waits for review",
		Values: []string{site.SubmissionPending},
	},
	"SubmissionState.status": {
		About:  "Whether the submission waits for review, was approved or was rejected",
		Values: []string{site.SubmissionPending, site.SubmissionApproved, site.SubmissionRejected},
	},
	"probe_result": {
		About: "Result of the probe; null while the probe waits because the domain was probed three times in one " +
			"hour",
	},
	"ProbeResult.endpoints_found": {About: "Number of endpoints that requested payment"},
	"ProbeResult.paid_tools": {
		About: "Tools of the submitted MCP servers that asked for payment, with their prices; absent without any",
	},
	"ProbeResult.errors": {
		About: "One message for each endpoint that did not request payment, with the reason",
	},
	"SubmissionState.reason":      {About: "Why the submission was rejected; null unless it was"},
	"SubmissionState.slug":        {About: "Slug of the listed service; null until the submission is approved"},
	"SubmissionState.received_at": {About: "When the submission was received"},
	"decided_at":                  {About: "When the submission was approved or rejected; null before that"},
}
