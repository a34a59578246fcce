package vocabulary

import "tollbook/site"

// changeFields describes the fields of change records. Its keys are those of serviceFields.
var changeFields = map[string]Field{
	"type": {
		About:  "Kind of change",
		Values: site.ChangeTypes,
	},
	"ChangeRecord.summary": {
		About: "What changed; its form depends on the type",
		OneOf: []any{site.SchemaSummary{}, site.PriceSummary{}, site.PayToSummary{}, site.SourceSummary{},
			site.GradeSummary{}},
	},
	"old_snapshot": {About: "Payment options before the change"},
	"new_snapshot": {About: "Payment options after the change"},
	"omitted": {
		About: "What a record of more than 64 KiB leaves out; absent from a complete record. The snapshots of such a " +
			"record contain only payment options that differ",
	},
	"differences":     {About: "Number of differences that the lists of the summary leave out"},
	"Omitted.entries": {About: "Number of payment options that the two snapshots leave out"},
	"schemaAdded": {
		About: "Lines added, each of ten fields with a space between them: method, path, scheme, network, asset, " +
			"asset name, version, an empty field, timeout, extra. No field contains a space: inside the first nine " +
			"it is written %20, inside the tenth, which is JSON text, \\u0020",
	},
	"schemaRemoved":       {About: "Lines removed, in the form of schemaAdded"},
	"endpointsAdded":      {About: "Endpoints added, such as \"GET /quote\""},
	"endpointsRemoved":    {About: "Endpoints removed"},
	"priceChanges":        {About: "Each price that changed"},
	"newPrice":            {About: "New price in atomic units"},
	"oldPrice":            {About: "Old price in atomic units"},
	"assetName":           {About: "Name of the token; UNKNOWN if the token is not recognised"},
	"payToAdded":          {About: "Recipients added, abbreviated"},
	"payToRemoved":        {About: "Recipients removed, abbreviated"},
	"payToChanges":        {About: "Each endpoint and network whose recipient changed"},
	"newPayTo":            {About: "New recipient; null if the old one was removed and others stay"},
	"oldPayTo":            {About: "Old recipient; null if the new one was added beside others"},
	"SnapshotEntry.asset": {About: "Address of the token; on EVM networks with its EIP-55 checksum"},
	"extra":               {About: "Extra data of the payment option, as JSON text"},
	"payTo":               {About: "Recipient, abbreviated"},
	"mimeType":            {About: "Media type of the response, as the endpoint declares it"},
	"resource":            {About: "URL that is paid for, as the endpoint declares it"},
	"x402Version":         {About: "Version of x402; 0 for other protocols"},
	"maxTimeoutSeconds":   {About: "Number of seconds for which a payment is valid"},

	"oldGrade":            {About: "Grade before the change"},
	"newGrade":            {About: "Grade after the change"},
	"GradeSummary.reason": {About: "The new grade and why"},
	"checksPassed":        {About: "Compliance checks that failed before and pass now, with the former reason"},
	"checksFailed":        {About: "Compliance checks that passed before and fail now"},
	"FailedCheck.id":      {About: "Identifier of the check"},
	"FailedCheck.reason":  {About: "Why the check fails or failed; empty if that is unknown"},

	"grade_changed":  {About: "Number of changes of a grade"},
	"schema_changed": {About: "Number of schema changes"},
	"price_changed":  {About: "Number of price changes"},
	"payto_changed":  {About: "Number of recipient changes"},
	"type_counts": {
		About: "Records of each type in the window and for the service; the filter type does not affect them",
	},
	"window_total": {About: "Sum of type_counts"},
}
