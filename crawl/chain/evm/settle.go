package evm

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"time"

	"tollbook/site/postgres/ledger"
)

// payment is a Transfer that settles a payment.
type payment struct {
	transfer *event
	method   string
}

// found is what settle found in a transaction.
type found struct {
	payments []payment
	// Authorisations of measured tokens without a Transfer: either there was none, or events are missing.
	orphans int
	// Authorisations with several Transfers of which the call data do not say which one pays.
	unclear int
}

// settle returns the payments among the events of one transaction, which are in order. input is its call data, nil if
// they are not known yet.
//
//   - An authorisation settles with the Transfer after it of the same token from the authoriser, as long as no other
//     authorisation of that authoriser is between them. So a batch of a hundred is a hundred payments, and transfers
//     of others in the transaction (splits, top-ups) are none. If there are several such Transfers, as of a token that
//     takes a fee from the payer in a Transfer of its own, the call data decide (authorizedTransfer). If they do not,
//     the authorisation counts for nothing: a fee never counts as a payment.
//   - An event of a Permit2 proxy settles with the nearest Transfer of any token before it, back to the previous proxy
//     event. If that token is not measured, or the Transfer belongs to an authorisation, there is no payment.
//   - A redemption settles with the nearest Transfer before it of its token and amount, from the contract to its
//     recipient. If that token is not measured, there is no payment.
func settle(events []event, measured map[address]*token, input []byte) (f found) {
	var few [16]bool // most transactions need no allocation
	taken := few[:]
	if len(events) > len(few) {
		taken = make([]bool, len(events))
	}
	for i := range events {
		a := &events[i]
		if !a.isAuthorization() || measured[a.contract] == nil {
			continue
		}
		var one [4]int
		legs := one[:0]
		for j := i + 1; j < len(events); j++ {
			t := &events[j]
			if t.contract != a.contract || t.topicCount < 2 || t.topics[1] != a.topics[1] {
				continue
			}
			if t.isAuthorization() {
				break
			}
			if t.isTransfer() && !taken[j] {
				legs = append(legs, j)
			}
		}
		leg := -1
		switch len(legs) {
		case 0:
			f.orphans++
		case 1:
			leg = legs[0]
		default:
			if leg = authorizedTransfer(events, a, legs, input); leg < 0 {
				f.unclear++
			}
		}
		if leg >= 0 {
			taken[leg] = true
			f.payments = append(f.payments, payment{&events[leg], methodEIP3009})
		}
	}
	for i := range events {
		if j := settledBy(events, i); j >= 0 && !taken[j] && measured[events[j].contract] != nil {
			taken[j] = true
			method := methodPermit2
			if events[i].isRedemption() {
				method = methodBatch
			}
			f.payments = append(f.payments, payment{&events[j], method})
		}
	}
	return f
}

// wordSize is the size of a parameter in call data.
const wordSize = 32

// authorizedTransfer returns which of several Transfers (indexes of events) an authorisation is of, by the call data of
// the transaction; -1 if they do not say. Each of the calls of EIP-3009 has the authoriser, the recipient, the amount,
// two times and the nonce as parameters in this order, also where a contract makes the call with data that the
// transaction contains. The nonce is unique. A Transfer of the amount to the recipient is the payment; of a token that
// takes its fee from the amount, the only one to the recipient.
func authorizedTransfer(events []event, a *event, legs []int, input []byte) int {
	nonce := a.topics[2]
	for at := bytes.Index(input, nonce[:]); at >= 0; {
		if first := at - 5*wordSize; first >= 0 && bytes.Equal(input[first:first+wordSize], a.topics[1][:]) {
			to, amount := hash(input[first+wordSize:first+2*wordSize]), hash(input[first+2*wordSize:first+3*wordSize])
			others, count := -1, 0
			for _, j := range legs {
				if events[j].topics[2] != to {
					continue
				}
				if events[j].amount == amount {
					return j
				}
				others, count = j, count+1
			}
			if count == 1 {
				return others
			}
			return -1
		}
		next := bytes.Index(input[at+1:], nonce[:])
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return -1
}

// settledBy returns the index of the Transfer that the event of a contract of x402 reports, -1 without one.
func settledBy(events []event, i int) int {
	e := &events[i]
	switch {
	case e.isSettled():
		for j := i - 1; j >= 0 && !events[j].isSettled(); j-- {
			if events[j].isTransfer() {
				return j
			}
		}
	case e.isRedemption():
		for j := i - 1; j >= 0; j-- {
			t := &events[j]
			if t.isTransfer() && t.contract == addressOf(e.topics[2]) && addressOf(t.topics[1]) == batchSettlement &&
				t.topics[2] == e.topics[1] && t.amount == e.amount {
				return j
			}
		}
	}
	return -1
}

// settlement returns the row of a payment. It returns false if nothing was paid, if the settler moved its own money, if
// it was not a settler yet, or if a payer deposited money for batch settlement. A payment to oneself is stored; sums
// omit it. The payer of a redemption is the contract.
func (x *Reader) settlement(p payment, s *settler, b *blockEvents) (ledger.Settlement, bool) {
	t, h := p.transfer, &b.header
	payer, payee := addressOf(t.topics[1]), addressOf(t.topics[2])
	if t.amount == (hash{}) || payer == s.address || s.Since != nil && h.time.Before(dayOf(*s.Since)) ||
		payee == batchSettlement || slices.Contains(depositCollectors, payee) {
		return ledger.Settlement{}, false
	}
	if b.hash == "" {
		b.hash = h.hash.String()
	}
	return ledger.Settlement{
		Network: x.network.ID, Block: t.block, BlockHash: b.hash, Time: h.time,
		Transaction: t.transaction.String(), LogIndex: int(t.index), Method: p.method,
		Facilitator: s.Facilitator, Settler: s.Address, Token: x.tokens[t.contract].text,
		Payer: payer.String(), Payee: payee.String(), Amount: formatDecimal(t.amount),
	}, true
}

// dayOf returns the UTC day of a time.
func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// dayCounter sums the events of a counting scan by UTC day.
type dayCounter struct {
	seen    map[seenKey]int64
	senders map[senderKey]*senderSum
}

type seenKey struct {
	token address
	day   int64
}

type senderKey struct {
	sender, token address
	day           int64
}

type senderSum struct {
	payments   int64
	amount     big.Int
	recipients map[address]struct{}
}

func newDayCounter() *dayCounter {
	return &dayCounter{seen: map[seenKey]int64{}, senders: map[senderKey]*senderSum{}}
}

// addPayment adds a transfer to a listed recipient.
func (c *dayCounter) addPayment(sender address, t *event, day int64) {
	key := senderKey{sender, t.contract, day}
	sum := c.senders[key]
	if sum == nil {
		sum = &senderSum{recipients: map[address]struct{}{}}
		c.senders[key] = sum
	}
	sum.payments++
	sum.amount.Add(&sum.amount, new(big.Int).SetBytes(t.amount[:]))
	sum.recipients[addressOf(t.topics[2])] = struct{}{}
}

// rows returns the sums in a fixed order.
func (c *dayCounter) rows(tokens map[address]*token) (seen []ledger.AuthorizationDay, senders []ledger.SenderDay) {
	for key, n := range c.seen {
		seen = append(seen, ledger.AuthorizationDay{
			Token: tokens[key.token].text, Day: time.Unix(key.day, 0).UTC(), Authorizations: n,
		})
	}
	slices.SortFunc(seen, func(a, b ledger.AuthorizationDay) int {
		if c := strings.Compare(a.Token, b.Token); c != 0 {
			return c
		}
		return a.Day.Compare(b.Day)
	})
	for key, sum := range c.senders {
		senders = append(senders, ledger.SenderDay{
			Sender: key.sender.String(), Day: time.Unix(key.day, 0).UTC(), Token: tokens[key.token].text,
			Payments: sum.payments, Amount: sum.amount.String(), Recipients: int64(len(sum.recipients)),
		})
	}
	slices.SortFunc(senders, func(a, b ledger.SenderDay) int {
		if c := strings.Compare(a.Sender, b.Sender); c != 0 {
			return c
		}
		if c := a.Day.Compare(b.Day); c != 0 {
			return c
		}
		return strings.Compare(a.Token, b.Token)
	})
	return seen, senders
}
