package sample

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"

	"golang.org/x/crypto/sha3"
)

// Events of contracts on EVM chains when a payment is settled.
var (
	transferTopic      = topic("Transfer(address,address,uint256)")
	authorizationTopic = topic("AuthorizationUsed(address,bytes32)")
	settledTopic       = topic("Settled()")
	redeemedTopic      = topic("Settled(address,address,address,uint128)")
)

// Contracts with the same address on every EVM chain.
const (
	uptoProxy = "0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002"
	escrow    = "0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003" // of batch settlement
)

// event is a log without its position.
type event struct {
	address string
	topics  []string
	data    string
}

// settling returns the events of a transaction: two for each payment.
func (t transaction) settling() (events []event) {
	for i, p := range t.payments {
		payer, payee := word(p.payer), word(p.payee)
		if p.rail.scheme == "exact" {
			events = append(events, event{p.token, []string{authorizationTopic, payer, t.nonce(i)}, "0x"})
		}
		events = append(events, event{p.token, []string{transferTopic, payer, payee}, amountWord(p.amount)})
		switch p.rail.scheme {
		case "upto":
			events = append(events, event{uptoProxy, []string{settledTopic}, "0x"})
		case "batch-settlement":
			events = append(events, event{escrow, []string{redeemedTopic, payee, word(p.token), word(t.settler)},
				amountWord(p.amount)})
		}
	}
	return events
}

// transferOf returns the index of the transfer of the ith payment.
func (t transaction) transferOf(i int) int {
	if t.payments[i].rail.scheme == "exact" {
		return 2*i + 1
	}
	return 2 * i
}

// nonce returns the nonce of the ith authorisation.
func (t transaction) nonce(i int) string { return topic("nonce " + t.hash + "/" + strconv.Itoa(i)) }

// word returns an address as 32 bytes.
func word(address string) string { return "0x" + strings.Repeat("0", 24) + address[2:] }

// amountWord returns an amount in atomic units as 32 bytes.
func amountWord(amount string) string {
	n, _ := new(big.Int).SetString(amount, 10) // amounts consist of digits
	return "0x" + hex.EncodeToString(n.FillBytes(make([]byte, 32)))
}

// topic returns the hash of an event's signature.
func topic(signature string) string {
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(signature))
	return "0x" + hex.EncodeToString(h.Sum(nil))
}

// bloom returns the Bloom filter of a block's logs: three bits for each address and topic.
func bloom(events []event) string {
	var filter [256]byte
	add := func(text string) {
		raw, _ := hex.DecodeString(text[2:]) // text is hex
		h := sha3.NewLegacyKeccak256()
		h.Write(raw)
		sum := h.Sum(nil)
		for i := 0; i < 6; i += 2 {
			bit := (int(sum[i])<<8 | int(sum[i+1])) & 2047
			filter[255-bit/8] |= 1 << (bit % 8)
		}
	}
	for _, e := range events {
		add(e.address)
		for _, t := range e.topics {
			add(t)
		}
	}
	return "0x" + hex.EncodeToString(filter[:])
}
