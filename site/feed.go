package site

// FeedVersion is the version of the JSON Feed format.
const FeedVersion = "https://jsonfeed.org/version/1.1"

// FeedFile is the key of the JSON Feed of all changes.
const FeedFile = "feed.json"

// Feed is a list of change records as a JSON Feed, newest first. See https://www.jsonfeed.org/version/1.1/.
type Feed struct {
	Version     string       `json:"version"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	HomePageURL string       `json:"home_page_url"`
	FeedURL     string       `json:"feed_url"`
	Language    string       `json:"language"`
	Authors     []FeedAuthor `json:"authors"`
	Items       []FeedItem   `json:"items"`
}

// FeedAuthor is the publisher of a feed.
type FeedAuthor struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// FeedItem is a change record in a feed.
type FeedItem struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	Title         string   `json:"title"`
	ContentText   string   `json:"content_text"`
	DatePublished string   `json:"date_published"`
	Tags          []string `json:"tags"`
}

// Badge is the status of a service in the format of shields.io endpoint badges.
type Badge struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
}
