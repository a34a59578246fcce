package vocabulary

// sourceFields describes the fields of public sources and of what they list. Its keys are those of serviceFields.
var sourceFields = map[string]Field{
	"listed_by":               {About: "Public sources that list the service or did, by name"},
	"ListedBy.source":         {About: "Name of the source in /v1/sources"},
	"ListedBy.since":          {About: "When this directory first saw a resource of the service in the source"},
	"until":                   {About: "When the source dropped the last one; null while it lists one"},
	"ListedBy.resource_count": {About: "Resources of the service that the source lists now"},
	"Source.source":           {About: "Name of the source"},
	"Source.kind":             {About: "How its answers are read"},
	"Source.address":          {About: "URL of its first page, without its query"},
	"last_attempt_at":         {About: "When it was last read, or could not be"},
	"Source.last_success_at":  {About: "When it was last read to its end; null if it never was"},
	"Source.failures":         {About: "Attempts that failed since the last success; a failure drops nothing"},
	"Source.answer":           {About: "The answer that counts; null before the first"},
	"held_back": {
		About: "A newer answer that does not count yet, because it shrank by more than half; null if there is none"},
	"Source.resource_count":        {About: "Different URLs that the source lists"},
	"unique_count":                 {About: "Of these, URLs that no other source lists"},
	"Source.service_count":         {About: "Listed services with one of its resources"},
	"overlap":                      {About: "How many resources it has in common with each other source, by name"},
	"SourceOverlap.source":         {About: "Name of the other source"},
	"SourceOverlap.resource_count": {About: "Different URLs that both list"},
	"SourceSummary.source":         {About: "Name of the source in /v1/sources"},
	"SourceSummary.endpoint": {
		About: "Method and path of the resource, or its path if the source names no method"},
	"SourceSummary.since":      {About: "When this directory first saw the resource in the source"},
	"SourceSummary.answer":     {About: "The whole answer of the source, which has the resource or lacks it"},
	"SourceAnswer.received_at": {About: "When the answer was received"},
	"SourceAnswer.resources":   {About: "Different resources in it"},
	"SourceAnswer.sha256":      {About: "SHA-256 of the bytes of all its pages, in hex"},
	"listed":                   {About: "Resources that a public source began to list"},
	"dropped":                  {About: "Resources that a public source no longer lists"},
}
