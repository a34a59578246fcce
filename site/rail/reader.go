package rail

// Reader is what an endpoint asks one reader for.
type Reader struct {
	As     string // one of the As constants
	Method string
	Status int // of the response; 0 without one
	Terms  []Terms
}

// The readers of an endpoint that are compared. They are stored: never rename one.
const (
	AsAgent       = "agent"        // the request of a probe
	AsBrowser     = "browser"      // the same request with the Accept header of a browser
	AsClient      = "client"       // the same request with the User-Agent of a client that pays
	AsUnsigned    = "unsigned"     // the same request without the signature of the probe
	AsOtherMethod = "other_method" // GET instead of POST, or POST instead of GET
)

func (r Reader) side() Side { return Side{r.place(), r.Terms} }

// place returns the reader in words.
func (r Reader) place() string {
	switch r.As {
	case AsBrowser:
		return "the response to a browser"
	case AsClient:
		return "the response to a client that pays"
	case AsUnsigned:
		return "the response to a request without a signature"
	case AsOtherMethod:
		return "the response to " + clip(r.Method)
	}
	return "the response to an agent"
}

// CompareReaders returns the conflicts between the first reader and the others. Of a request by another method, or
// without a signature, only the recipient counts: another method may well do and cost something else, and a seller may
// have a price of its own for crawlers that sign.
func CompareReaders(readers []Reader) (list []Conflict) {
	for i := 1; i < len(readers); i++ {
		found := Compare(readers[0].side(), readers[i].side())
		mayDiffer := readers[i].As == AsOtherMethod || readers[i].As == AsUnsigned
		if found != nil && (!mayDiffer || found.Of == OfRecipient) {
			list = append(list, *found)
		}
	}
	return list
}
