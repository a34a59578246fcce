package list

import (
	"fmt"
	"slices"

	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
)

// transitions are the states that a service may have before it gets a state.
var transitions = map[string][]string{
	postgres.StateListed:  {postgres.StatePaused, postgres.StateHidden, postgres.StateRetired},
	postgres.StatePaused:  {postgres.StateListed},
	postgres.StateHidden:  {postgres.StateListed, postgres.StatePaused, postgres.StateRetired},
	postgres.StateRetired: {postgres.StateListed, postgres.StatePaused, postgres.StateHidden},
}

// ChangeState returns the change that gives a service a state, and whether it has another one now. A change that is not
// allowed is an error.
func ChangeState(s *postgres.DueService, to, action string) (c postgres.ListingChange, changes bool, err error) {
	if s.StateBeforeOptOut != nil {
		return c, false, fmt.Errorf("%s is hidden, because the owner of %s opted out or it is blocked; tollbook services "+
			"opt-outs says which, and tollbook services remove %s erases what is stored", s.Slug, consent.HostOf(s.BaseURL), s.Slug)
	}
	if s.State == to && !s.Pruned {
		return c, false, nil
	}
	if s.State != to && !slices.Contains(transitions[to], s.State) {
		return c, false, fmt.Errorf("%s is %s, which also stops its visits; first list it again: tollbook services "+
			"resume %s", s.Slug, s.State, s.Slug)
	}
	c = newChange(s)
	c.State, c.Pruned, c.Action, c.Detail = to, false, action, s.State+" → "+to
	return c, true, nil
}
