package x402

import (
	"slices"
	"strings"
)

// DefectCode is one kind of defect and its meaning.
type DefectCode struct {
	Code    string
	Meaning string // one sentence
}

// The codes, grouped by the part that is read. They are stored and published: never rename one.
const (
	// The response.
	statusNot402      = "status_not_402"
	bodyTruncated     = "body_truncated"
	bodyUnreadable    = "body_unreadable"
	bodyEncoded       = "body_encoded"
	bodyNested        = "body_nested"
	bodyHTML          = "body_html"
	authenticateX402  = "authenticate_x402"
	channelsDiverge   = "channels_diverge"
	headerUndecodable = "header_undecodable"
	headerLarge       = "header_large"
	headerOversize    = "header_oversize"
	headerRepeated    = "header_repeated"
	headerAlias       = "header_alias"

	versionConflict = "version_conflict"
	v2OutsideHeader = "v2_outside_header"
	v1InHeader      = "v1_in_header"

	// The text of a header or body.
	base64Unpadded  = "base64_unpadded"
	base64URL       = "base64_url"
	rawJSON         = "raw_json"
	valueQuoted     = "value_quoted"
	valueSpaced     = "value_spaced"
	valueEncoded    = "value_encoded"
	byteOrderMark   = "byte_order_mark"
	invalidUTF8     = "invalid_utf8"
	duplicateMember = "duplicate_key"
	jsonTooDeep     = "json_too_deep"

	// The envelope.
	versionMissing    = "version_missing"
	versionText       = "version_text"
	versionInvalid    = "version_invalid"
	acceptsMissing    = "accepts_missing"
	acceptsEmpty      = "accepts_empty"
	acceptsObject     = "accepts_object"
	acceptsInvalid    = "accepts_invalid"
	acceptsTooMany    = "accepts_too_many"
	requirementsBare  = "requirements_bare"
	rowNotObject      = "row_not_object"
	resourceText      = "resource_text"
	resourceObject    = "resource_object"
	resourceInRow     = "resource_in_row"
	resourceMissing   = "resource_missing"
	extensionsInRow   = "extensions_in_row"
	routeTemplateBad  = "route_template_invalid"
	discoveryUnread   = "discovery_invalid"
	outputSchemaInV2  = "output_schema_in_v2"
	outputSchemaNull  = "output_schema_null"
	resourceRelative  = "resource_relative"
	textCleaned       = "text_cleaned"
	fieldTypeMismatch = "field_type"

	// A row of accepts.
	schemeMissing     = "scheme_missing"
	networkMissing    = "network_missing"
	networkUnresolved = "network_unresolved"
	networkNickname   = "network_nickname"
	networkUnknown    = "network_unknown"
	amountMissing     = "amount_missing"
	amountKey         = "amount_key"
	amountNumber      = "amount_number"
	amountSpaced      = "amount_spaced"
	amountZeros       = "amount_leading_zeros"
	amountNotInteger  = "amount_not_integer"
	amountNotDecimal  = "amount_not_decimal"
	assetMissing      = "asset_missing"
	assetObject       = "asset_object"
	assetTicker       = "asset_ticker"
	payToMissing      = "payto_missing"
	payToKey          = "payto_key"
	payToElsewhere    = "payto_elsewhere"
	payToObject       = "payto_object"
	timeoutText       = "timeout_text"
	timeoutMissing    = "timeout_missing"
	timeoutInvalid    = "timeout_invalid"
	extraText         = "extra_text"
	issuerMissing     = "issuer_missing"
	extraInvalid      = "extra_invalid"
)

var defectCodes = []DefectCode{
	{acceptsEmpty, "accepts is an empty list."},
	{acceptsInvalid, "accepts is neither a list nor an object."},
	{acceptsMissing, "The envelope has no accepts."},
	{acceptsObject, "accepts is one object where a list of objects is expected."},
	{acceptsTooMany, "accepts has more rows than Tollbook reads."},
	{amountKey, "The price is in a field that its protocol version does not use."},
	{amountZeros, "The amount begins with zeros."},
	{amountMissing, "The row names no price."},
	{amountNotDecimal, "The price of an issued currency is not a decimal number."},
	{amountNotInteger, "The price is not a whole number of atomic units."},
	{amountNumber, "The amount is a JSON number where a string is expected; large numbers lose digits."},
	{amountSpaced, "The amount has spaces around it."},
	{assetMissing, "The row names no asset."},
	{assetObject, "The asset is an object where an address is expected."},
	{assetTicker, "The asset is a ticker symbol where an address is expected."},
	{authenticateX402, "WWW-Authenticate names a scheme x402, which the protocol does not define."},
	{base64Unpadded, "The base64 text lacks its padding."},
	{base64URL, "The base64 text uses the URL-safe alphabet."},
	{bodyEncoded, "The body is JSON encoded a second time, as base64 or as a JSON string."},
	{bodyHTML, "The requirements could only be read out of a paywall page's script."},
	{bodyNested, "The envelope is nested in another object of the body."},
	{bodyTruncated, "The body is too long to be read whole."},
	{bodyUnreadable, "The body begins like JSON but is not valid JSON."},
	{byteOrderMark, "The text begins with a byte order mark."},
	{channelsDiverge, "Header and body ask for different payments."},
	{discoveryUnread, "The description of how to call the resource cannot be read."},
	{duplicateMember, "A key occurs twice in one object; the last one counts."},
	{extensionsInRow, "Extensions are in a row instead of the envelope."},
	{extraInvalid, "extra is not an object."},
	{extraText, "extra is a JSON string where an object is expected."},
	{fieldTypeMismatch, "A field has the wrong JSON type."},
	{headerAlias, "The envelope is in a header other than PAYMENT-REQUIRED."},
	{headerLarge, "All response headers together have more than 16 KiB, which Node.js clients refuse by default."},
	{headerOversize, "The header is too long to be read whole."},
	{headerRepeated, "PAYMENT-REQUIRED occurs more than once."},
	{headerUndecodable, "PAYMENT-REQUIRED does not decode to a JSON object."},
	{invalidUTF8, "The text contains bytes that are not UTF-8."},
	{issuerMissing, "A currency of the XRP Ledger lacks extra.issuer, the account that issues it."},
	{jsonTooDeep, "The JSON is nested too deeply to be read."},
	{networkMissing, "The row names no network."},
	{networkNickname, "The network has a short or informal name where a CAIP-2 id is expected."},
	{networkUnknown, "The network ID is well formed but not in Tollbook's table."},
	{networkUnresolved, "The network is not recognised."},
	{outputSchemaInV2, "outputSchema belongs to version 1; version 2 uses the bazaar extension."},
	{outputSchemaNull, "outputSchema is null where version 1 has an object or leaves it out."},
	{payToElsewhere, "The recipient is outside the row."},
	{payToKey, "The recipient is in a field other than payTo."},
	{payToMissing, "No recipient can be found."},
	{payToObject, "The recipient is an object where a string is expected."},
	{rawJSON, "The header contains plain JSON where base64 is expected."},
	{requirementsBare, "The requirements are not inside an envelope."},
	{resourceInRow, "The resource is in a row; version 2 puts it in the envelope."},
	{resourceMissing, "The envelope does not name the resource."},
	{resourceObject, "resource is an object where version 1 uses a URL."},
	{resourceRelative, "resource is not an absolute URL."},
	{resourceText, "resource is a URL where version 2 uses an object."},
	{routeTemplateBad, "The route template is malformed and was left out."},
	{rowNotObject, "An entry of accepts is not an object and was left out."},
	{schemeMissing, "The row names no scheme."},
	{statusNot402, "An envelope came with a status other than 402 or 412 and does not count."},
	{textCleaned, "Control, invisible or direction characters were removed from a text."},
	{timeoutInvalid, "maxTimeoutSeconds is not a number of seconds."},
	{timeoutMissing, "maxTimeoutSeconds is missing."},
	{timeoutText, "maxTimeoutSeconds is a string where a number is expected."},
	{v1InHeader, "Version 1 terms are in a header; the protocol puts them in the body."},
	{v2OutsideHeader, "Version 2 terms are outside the PAYMENT-REQUIRED header."},
	{valueEncoded, "The header is encoded twice."},
	{valueQuoted, "The header's value is in quotation marks."},
	{valueSpaced, "The header's value has spaces or line breaks in or around it."},
	{versionConflict,
		"The body speaks version 1 while the header contains an envelope of version 2 that does not count."},
	{versionInvalid, "x402Version is not a version."},
	{versionMissing, "x402Version is missing."},
	{versionText, "x402Version is a string where a number is expected."},
}

// DefectCodes returns every code with its meaning, in the order of the codes.
func DefectCodes() []DefectCode { return slices.Clone(defectCodes) }

// maxDefects is the largest number of defects that are recorded for one envelope.
const maxDefects = 128

// defects collects the defects of an envelope while it is read.
type defects struct {
	list []Defect
	row  *int // the row being read, nil outside accepts
}

// add records a defect once per row, with an optional part of the received text.
func (d *defects) add(code string, detail ...string) {
	text := clip(cleanText(strings.Join(detail, " ")), 120)
	for _, old := range d.list {
		if old.Code == code && old.Detail == text && sameRow(old.Row, d.row) {
			return
		}
	}
	if len(d.list) < maxDefects {
		d.list = append(d.list, Defect{Code: code, Detail: text, Row: d.row})
	}
}

func sameRow(a, b *int) bool {
	return a == b || a != nil && b != nil && *a == *b
}
