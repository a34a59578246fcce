package site

// FeedVersion is the version of the JSON Feed format.
const FeedVersion = "https://jsonfeed.org/version/1.1"

// FeedFile is the key of the JSON Feed of all changes.
const FeedFile = "feed.json"

// Feed: change records as a JSON Feed, newest first.
//
// See https://www.jsonfeed.org/version/1.1/.
type Feed struct {
	// Version of the JSON Feed format.
	Version string `json:"version" format:"uri"`
	// Title of the feed.
	Title string `json:"title"`
	// What the feed contains.
	Description string `json:"description"`
	// URL of the page with the same records.
	HomePageURL string `json:"home_page_url" format:"uri"`
	// URL of the feed.
	FeedURL string `json:"feed_url" format:"uri"`
	// Language of the directory's texts; a service may use any language.
	Language string `json:"language"`
	// The directory.
	Authors []FeedAuthor `json:"authors"`
	// The newest records, newest first.
	Items []FeedItem `json:"items"`
}

// FeedAuthor is the publisher of the feed.
type FeedAuthor struct {
	// Name of the directory.
	Name string `json:"name"`
	// URL of the directory.
	URL string `json:"url" format:"uri"`
}

// FeedItem is a change record. Texts from the service are in quotation marks.
type FeedItem struct {
	// Id of the item; depends only on the record.
	ID string `json:"id"`
	// URL of the service's page.
	URL string `json:"url" format:"uri"`
	// Name of the service and what changed.
	Title string `json:"title"`
	// Values before and after the change.
	ContentText string `json:"content_text"`
	// When the change was observed.
	DatePublished string `json:"date_published"`
	// Type of the record.
	Tags []string `json:"tags"`
}

// Badge is the status of a service in the format of shields.io endpoint badges.
type Badge struct {
	// Version of the badge format: 1.
	SchemaVersion int `json:"schemaVersion"`
	// Text on the left.
	Label string `json:"label"`
	// Text on the right: status, and the 30-day uptime if known.
	Message string `json:"message"`
	// Colour of the right half.
	Color string `json:"color"`
}
