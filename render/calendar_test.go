package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCalendar checks that texts are escaped, lines folded, and events of days have no time.
func TestCalendar(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	end, late := start.AddDate(0, 0, 2), start.Add(30*time.Hour)
	c := calendar{Title: "a;b,c", About: "x", Events: []feedEvent{
		{ID: "1", Title: "one\r\nEND:VEVENT", Text: strings.Repeat("é", 60), Page: "https://a.example/", Start: start,
			End: &end, IsByDay: true},
		{ID: "2", Title: "two\x07\\", Page: "https://b.example/", Start: start, End: &late, IsByDay: true},
		{ID: "3", Title: "three", Page: "https://c.example/", Start: late},
	}}
	got := string(c.Encode())
	want := strings.ReplaceAll("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Tollbook//Incidents//EN\n"+
		"X-WR-CALNAME:a\\;b\\,c\nX-WR-CALDESC:x\n"+
		"BEGIN:VEVENT\nUID:1\nDTSTAMP:20261122T000000Z\nDTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20261122\n"+
		"SUMMARY:one\\nEND:VEVENT\nDESCRIPTION:"+strings.Repeat("é", 31)+"\n "+strings.Repeat("é", 29)+"\n"+
		"URL:https://a.example/\nTRANSP:TRANSPARENT\nEND:VEVENT\n"+
		"BEGIN:VEVENT\nUID:2\nDTSTAMP:20261121T060000Z\nDTSTART:20261120T000000Z\nDTEND:20261121T060000Z\n"+
		"SUMMARY:two\\\\\nDESCRIPTION:\nURL:https://b.example/\nTRANSP:TRANSPARENT\nEND:VEVENT\n"+
		"BEGIN:VEVENT\nUID:3\nDTSTAMP:20261121T060000Z\nDTSTART:20261121T060000Z\nSUMMARY:three\nDESCRIPTION:\n"+
		"URL:https://c.example/\nTRANSP:TRANSPARENT\nSTATUS:TENTATIVE\nEND:VEVENT\nEND:VCALENDAR\n", "\n", "\r\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calendar (-want +got):\n%s", diff)
	}
	for _, line := range strings.Split(got, "\r\n") {
		if len(line) > lineOctets {
			t.Errorf("a line has %d octets: %s", len(line), line)
		}
	}
}
