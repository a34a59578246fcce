package site

// Call is an address that no file answers: what it tells is of the moment, and kept in a database.
type Call struct {
	Name    string
	Method  string
	Pattern string // "{id}" stands for one path segment
	Body    any    // of the request, as in Responses; nil for none
	Status  int    // of success
	Answer  any    // as in Responses
	About   string
}

// Calls are all of them. A server that takes no submissions has none.
var Calls = []Call{
	{
		Name: "submit", Method: "POST", Pattern: "/v1/submit", Body: Submission{}, Status: 201,
		Answer: One[SubmissionResult]{},
		About: "Submits a service for listing. It is kept, its endpoints are asked once without paying, and a person decides. " +
			"An Idempotency-Key makes it safe to send again: with the same submission the answer is that of the first time, with another one a 400.",
	},
	{
		Name: "submission", Method: "GET", Pattern: "/v1/submissions/{id}", Status: 200, Answer: One[SubmissionState]{},
		About: "What became of a submission, for who has its id.",
	},
}

// CallByName is the call with this name; it panics for a name that there is not, which is a programmer's error.
func CallByName(name string) *Call {
	for i := range Calls {
		if Calls[i].Name == name {
			return &Calls[i]
		}
	}
	panic("site: no call " + name)
}
