package render

import (
	"math"
	"strconv"

	"tollbook/site"
)

// Rows of which a snapshot has millions are written by hand, to the byte as encoding/json writes them, in a tenth of its
// time: a test holds the two together. What these do not know, a text with escapes, an odd number, encoding/json writes.

// appendRow appends a row of such a kind; false of any other.
func appendRow(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case *site.CheckEntry:
		return appendCheck(b, v)
	case *site.GlobalCheckEntry:
		return appendGlobalCheck(b, v)
	case *site.ScorePoint:
		return appendScore(b, v)
	case *site.UptimeDataPoint:
		return appendUptime(b, v)
	}
	return b, false
}

func appendCheck(b []byte, c *site.CheckEntry) (_ []byte, ok bool) {
	if !isSimple(c.ID) || c.ErrorMessage != nil && !isSimple(*c.ErrorMessage) {
		return b, false
	}
	b = texts(b, `{"id":"`, c.ID, `","checked_at":`)
	b = appendTime(b, c.CheckedAt)
	b = strconv.AppendBool(append(b, `,"is_up":`...), c.IsUp)
	b = appendInt(append(b, `,"status_code":`...), c.StatusCode)
	b = appendInt(append(b, `,"response_time_ms":`...), c.ResponseTimeMS)
	b = strconv.AppendInt(append(b, `,"endpoints_found":`...), int64(c.EndpointsFound), 10)
	if c.ErrorMessage == nil {
		return append(b, `,"error_message":null}`...), true
	}
	return texts(b, `,"error_message":"`, *c.ErrorMessage, `"}`), true
}

func appendGlobalCheck(b []byte, c *site.GlobalCheckEntry) (_ []byte, ok bool) {
	if !isSimple(c.ID) || !isSimple(c.ServiceSlug) || !isSimple(c.ServiceName) || !isSimple(c.ServiceStatus) {
		return b, false
	}
	b = texts(b, `{"id":"`, c.ID, `","checked_at":`)
	b = appendTime(b, c.CheckedAt)
	b = strconv.AppendBool(append(b, `,"is_up":`...), c.IsUp)
	b = appendInt(append(b, `,"status_code":`...), c.StatusCode)
	b = appendInt(append(b, `,"response_time_ms":`...), c.ResponseTimeMS)
	b = strconv.AppendInt(append(b, `,"endpoints_found":`...), int64(c.EndpointsFound), 10)
	return texts(b, `,"service_slug":"`, c.ServiceSlug, `","service_name":"`, c.ServiceName, `","service_status":"`, c.ServiceStatus, `"}`), true
}

func appendScore(b []byte, p *site.ScorePoint) (_ []byte, ok bool) {
	if !isSimple(p.Date) || !isPlainFloat(p.UptimePercentage) || p.PriceStability != nil && !isPlainFloat(*p.PriceStability) {
		return b, false
	}
	b = texts(b, `{"date":"`, p.Date, `","uptime_percentage":`)
	b = strconv.AppendFloat(b, p.UptimePercentage, 'f', -1, 64)
	b = appendInt(append(b, `,"avg_response_time_ms":`...), p.AvgResponseTimeMS)
	b = append(b, `,"price_stability":`...)
	if p.PriceStability == nil {
		return append(b, "null}"...), true
	}
	return append(strconv.AppendFloat(b, *p.PriceStability, 'f', -1, 64), '}'), true
}

func appendUptime(b []byte, p *site.UptimeDataPoint) (_ []byte, ok bool) {
	if !isPlainFloat(p.UptimePercentage) {
		return b, false
	}
	b = appendTime(append(b, `{"period_start":`...), p.PeriodStart)
	b = appendTime(append(b, `,"period_end":`...), p.PeriodEnd)
	b = strconv.AppendFloat(append(b, `,"uptime_percentage":`...), p.UptimePercentage, 'f', -1, 64)
	b = appendInt(append(b, `,"avg_response_time_ms":`...), p.AvgResponseTimeMS)
	b = strconv.AppendInt(append(b, `,"total_checks":`...), p.TotalChecks, 10)
	b = strconv.AppendInt(append(b, `,"successful_checks":`...), p.SuccessfulChecks, 10)
	return append(b, '}'), true
}

// appendInt appends a number, or null.
func appendInt(b []byte, n *int) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(*n), 10)
}

// appendTime appends an instant in site.TimeLayout, in quotation marks.
func appendTime(b []byte, at site.Time) []byte {
	return append(at.Append(append(b, '"')), '"')
}

// texts appends every part.
func texts(b []byte, parts ...string) []byte {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// isSimple says whether a text stands in JSON as it is.
func isSimple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// isPlainFloat says whether encoding/json writes a number without an exponent.
func isPlainFloat(f float64) bool {
	abs := math.Abs(f)
	return f == 0 || abs >= 1e-6 && abs < 1e21
}
