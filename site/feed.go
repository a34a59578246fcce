package site

// FeedVersion says which form a Feed has.
const FeedVersion = "https://jsonfeed.org/version/1.1"

// FeedFile is the key of the JSON Feed of all changes.
const FeedFile = "feed.json"

// Feed is change records as a JSON Feed, newest first.
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

// FeedAuthor is who publishes a feed.
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

// Badge says how a service does, in the shape that makers of badges read.
type Badge struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
}
