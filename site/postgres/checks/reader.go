package checks

import "tollbook/site/rail"

// Reader is what an endpoint asked one reader for, when a visit compared readers.
type Reader struct {
	As     string  `json:"as"`     // one of the As constants of site/rail
	Method string  `json:"method"` // of the request
	Status int     `json:"status"` // of the response; 0 without one
	Terms  []Offer `json:"terms"`  // that can be paid, over any protocol
}

// ReadersOf returns stored readers as they are compared.
func ReadersOf(stored []Reader) []rail.Reader {
	list := make([]rail.Reader, len(stored))
	for i, r := range stored {
		list[i] = rail.Reader{As: r.As, Method: r.Method, Status: r.Status}
		for _, t := range r.Terms {
			list[i].Terms = append(list[i].Terms, rail.Terms(t))
		}
	}
	return list
}
