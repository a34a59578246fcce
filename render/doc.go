// Package render renders the pages and text files of a snapshot: HTML from package templates, Markdown, feeds, sitemap.
// The same snapshot gives the same bytes.
//
// It does no I/O and reads no clock: times come from the snapshot. It must never know where facts are stored, how they
// are judged, or where its output is written.
package render
