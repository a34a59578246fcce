// Package lists renders lists and what is chosen from them: filters and results of a search, the forms of pages before and
// after they are sent, the pages of sources, and what sources have in common.
//
// It must never know a database or where a page is published.
package lists
