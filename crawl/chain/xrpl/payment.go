package xrpl

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// transaction is an element of account_tx, with the members that settlements need.
type transaction struct {
	Hash      string    `json:"hash"`
	Ledger    int64     `json:"ledger_index"`
	ClosedAt  time.Time `json:"close_time_iso"`
	Validated bool      `json:"validated"`
	Fields    struct {
		Type        string `json:"TransactionType"`
		Account     string `json:"Account"`
		Destination string `json:"Destination"`
		SourceTag   *int64 `json:"SourceTag"`
	} `json:"tx_json"`
	Meta struct {
		Result    string          `json:"TransactionResult"`
		Index     *int64          `json:"TransactionIndex"`
		Delivered json.RawMessage `json:"delivered_amount"`
	} `json:"meta"`
}

var hashForm = regexp.MustCompile(`^[0-9A-F]{64}$`)

// check returns the place of a transaction. It fails for one that is not validated or not in the range.
func (t *transaction) check(q question) (place, error) {
	switch {
	case !hashForm.MatchString(t.Hash):
		return place{}, fmt.Errorf("%.80q is not the hash of a transaction", t.Hash)
	case !t.Validated || t.Meta.Result == "" || t.Meta.Index == nil || *t.Meta.Index < 0:
		return place{}, fmt.Errorf("transaction %s is not validated, or has no result or index", t.Hash)
	case t.Ledger < q.first || t.Ledger > q.last:
		return place{}, fmt.Errorf("transaction %s is in ledger %d, not in %d to %d", t.Hash, t.Ledger, q.first,
			q.last)
	}
	return place{t.Ledger, *t.Meta.Index}, nil
}

// readPayment returns the settlement in a validated transaction, nil if there is none. A settlement is a payment to the
// account that succeeded and carries the settler's source tag. Its amount is what was delivered: a partial payment
// delivers less than its Amount says.
func (x *Reader) readPayment(t *transaction, account string, s ledger.ScanSettler) (*ledger.Settlement, error) {
	f := &t.Fields
	if f.Type != "Payment" || f.Destination != account || t.Meta.Result != "tesSUCCESS" || f.SourceTag == nil ||
		"source_tag:"+strconv.FormatInt(*f.SourceTag, 10) != s.Address ||
		t.ClosedAt.Before(chain.FirstTime(x.network, s)) {
		return nil, nil
	}
	if err := x402.CheckAddress(x.network.ID, f.Account); err != nil && !errors.Is(err, x402.ErrBurn) {
		return nil, fmt.Errorf("has the payer %.80q: %w", f.Account, err)
	}
	token, value, err := readAmount(t.Meta.Delivered)
	if err != nil {
		return nil, err
	}
	measured, ok := x.measured[token]
	if !ok {
		return nil, nil
	}
	amount := value
	if token != "XRP" {
		if amount, err = shiftDecimal(value, measured.Decimals); err != nil {
			return nil, err
		}
	}
	if amount == "" || amount == "0" {
		return nil, nil
	}
	return &ledger.Settlement{
		Network: x.network.ID, Block: t.Ledger, Time: t.ClosedAt.UTC(), Transaction: t.Hash, Method: "source_tag",
		Facilitator: s.Facilitator, Settler: s.Address, Token: token, Payer: f.Account, Payee: account, Amount: amount,
	}, nil
}

var dropsForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)

// readAmount reads an amount as the ledger writes it: drops of XRP as text, or an issued currency with its issuer. The
// token is "" for an amount of another kind, such as a multi-purpose token, and for one that a node does not know.
func readAmount(raw json.RawMessage) (token, value string, err error) {
	if len(raw) == 0 {
		return "", "", errors.New("a successful payment has no delivered_amount")
	}
	if json.Unmarshal(raw, &value) == nil {
		switch {
		case value == "unavailable":
			return "", "", nil
		case !dropsForm.MatchString(value):
			return "", "", fmt.Errorf("%.40q is not a number of drops", value)
		}
		return "XRP", value, nil
	}
	var issued struct{ Currency, Issuer, Value string }
	if err := json.Unmarshal(raw, &issued); err != nil {
		return "", "", fmt.Errorf("read the delivered amount: %w", err)
	}
	if issued.Currency == "" || issued.Issuer == "" {
		return "", "", nil
	}
	return issued.Currency + "." + issued.Issuer, issued.Value, nil
}

var decimalForm = regexp.MustCompile(`^([0-9]{1,100})(?:\.([0-9]{1,100}))?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// maxShift is more than any measured token's amounts have digits before the point, with those after it.
const maxShift = 80

// shiftDecimal returns a decimal as a number of units of 10^-decimals, exactly. It returns "" for an amount that is not
// a whole number of units: less than any price, so that nothing was paid.
func shiftDecimal(text string, decimals int) (string, error) {
	m := decimalForm.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%.60q is not an amount", text)
	}
	exponent, _ := strconv.Atoi(strings.TrimPrefix(m[3], "+"))
	exponent += decimals - len(m[2])
	digits := strings.TrimLeft(m[1]+m[2], "0")
	if digits == "" {
		return "", nil
	}
	if exponent < 0 {
		whole := strings.TrimRight(digits, "0")
		if exponent += len(digits) - len(whole); exponent < 0 {
			return "", nil
		}
		digits = whole
	}
	if exponent > maxShift || len(digits)+exponent > maxShift {
		return "", fmt.Errorf("%.60q is more than any token's supply", text)
	}
	n, ok := new(big.Int).SetString(digits+strings.Repeat("0", exponent), 10)
	if !ok {
		return "", fmt.Errorf("%.60q is not an amount", text)
	}
	return n.String(), nil
}
