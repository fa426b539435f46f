// Calls of every kind with the client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"example.com/client/headwater"
)

const address = "0x8595aa61151393bb3126d8a839e009d066b4b9d3"
const other = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221"

// Ends the program where a call failed or an answer is not what was expected.
func check(err error, holds bool, what string) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
	if !holds {
		log.Fatalf("%s: not as expected", what)
	}
}

// Returns a client with this key.
func connected(key string) *headwater.ClientWithResponses {
	client, err := headwater.NewClientWithResponses(os.Getenv("URL"), headwater.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("X-API-Key", key)
			return nil
		}))
	check(err, true, "client")
	return client
}

func main() {
	ctx := context.Background()
	client := connected(os.Getenv("KEY"))
	chain, blockchain := headwater.ChainEthereum, headwater.ChainEthereum

	// A success.
	chains, err := client.ChainsWithResponse(ctx, &headwater.ChainsParams{})
	check(err, chains.JSON200 != nil && len(chains.JSON200.Data.Chains) > 0, "chains")
	check(nil, *chains.JSON200.Meta.CreditCost == 0, "cost of chains")

	// A list of a POST, continued by its cursor; amounts are decimal text.
	limit := int32(3)
	var cursor *string
	seen := map[string]bool{}
	var row headwater.TransferRow
	for range 2 {
		body := headwater.TransactionsRequest{Blockchain: blockchain, Address: address, Limit: &limit, Cursor: cursor}
		page, err := client.TransactionsWithResponse(ctx, &headwater.TransactionsParams{}, body)
		check(err, page.JSON200 != nil && page.JSON200.Data.Pagination.NextCursor != nil, "transactions")
		for _, row = range page.JSON200.Data.Datas {
			seen[row.Id] = true
		}
		cursor = page.JSON200.Data.Pagination.NextCursor
	}
	check(nil, len(seen) == 6, "two pages")
	check(nil, regexp.MustCompile(`^\d+(\.\d+)?$`).MatchString(*row.Amount), "amount")

	// A list of a GET, continued by its cursor.
	query := headwater.CounterpartyListParams{Address: address, Blockchain: &chain, Limit: &limit}
	first, err := client.CounterpartyListWithResponse(ctx, &query)
	check(err, first.JSON200 != nil && first.JSON200.Data.NextCursor != nil, "counterparties")
	query.Cursor = first.JSON200.Data.NextCursor
	second, err := client.CounterpartyListWithResponse(ctx, &query)
	check(err, second.JSON200 != nil, "second page of counterparties")
	check(nil, second.JSON200.Data.Datas[0].Address != first.JSON200.Data.Datas[0].Address, "cursor of counterparties")

	// Lists of parameters.
	rates, err := client.RatesWithResponse(ctx, &headwater.RatesParams{Symbols: []string{"eth", "usdt"}})
	check(err, rates.JSON200 != nil && len(rates.JSON200.Data.Rates) == 2, "rates")
	addresses := []string{address, other}
	labels, err := client.LabelsWithResponse(ctx, &headwater.LabelsParams{Blockchain: chain, Addresses: &addresses})
	check(err, labels.JSON200 != nil, "labels")
	labelled, err := labels.JSON200.Data.AsLabelledAddresses()
	check(err, len(labelled.Results) == 2 && labelled.Results[1].Address == other, "labels of two addresses")

	// A part of the path, and a list of values that have names.
	include := []headwater.TransactionInclude{headwater.TransactionIncludeLogs, headwater.TransactionIncludeInput}
	found, err := client.TransactionWithResponse(ctx, row.TxHash, &headwater.TransactionParams{Include: &include})
	check(err, found.JSON200 != nil && found.JSON200.Data.TxHash == row.TxHash, "transaction")

	// An amount range in decimal text, and a value that the description names.
	var smallest headwater.DecimalAmount
	check(smallest.FromAmountText("100.5"), true, "amount of a range")
	sign := headwater.Plus
	ranges := []headwater.FilterCriteria{{Symbol: "usdt", MinValue: &smallest, Sign: &sign}}
	ranged, err := client.TransactionsWithResponse(ctx, &headwater.TransactionsParams{},
		headwater.TransactionsRequest{Blockchain: blockchain, Address: address, FilterCriterias: &ranges})
	check(err, ranged.JSON200 != nil, "transactions within a range")

	// A call that is repeated under its key is paid once.
	key := fmt.Sprintf("oapi-codegen-%d", time.Now().UnixNano())
	repeated := headwater.WalletOverviewParams{IdempotencyKey: &key}
	body := headwater.WalletOverviewRequest{Blockchain: blockchain, Address: address}
	paid, err := client.WalletOverviewWithResponse(ctx, &repeated, body)
	check(err, paid.JSON200 != nil, "overview")
	again, err := client.WalletOverviewWithResponse(ctx, &repeated, body)
	check(err, again.HTTPResponse.Header.Get("Idempotent-Replayed") == "true", "repeated overview")
	check(nil, *again.JSON200.Meta.RequestId == *paid.JSON200.Meta.RequestId, "request of the repeated overview")

	// A judgement, whose level is one of three words.
	risk, err := client.AddressRiskWithResponse(ctx, &headwater.AddressRiskParams{},
		headwater.AddressRiskRequest{Blockchain: headwater.ChainOrEvmEvm, Address: address})
	check(err, risk.JSON200 != nil && risk.JSON200.Data.RiskLevel.Valid(), "risk")

	// Errors with their bodies.
	contract := "0x12"
	refused, err := client.TokenHoldersWithResponse(ctx,
		&headwater.TokenHoldersParams{Blockchain: chain, Contract: &contract})
	check(err, refused.JSON400 != nil && refused.JSON400.Error.Code == headwater.ErrorCodeBadRequest, "refused holders")
	check(nil, *refused.JSON400.Error.Details.Field == "contract", "field of the refusal")
	unknown, err := connected("hw_live_no").UsageWithResponse(ctx, &headwater.UsageParams{})
	check(err, unknown.JSON401 != nil && unknown.JSON401.Error.Code == headwater.ErrorCodeUnauthorized, "unknown key")

	// A list of the gateway itself.
	webhooks, err := client.ListWebhooksWithResponse(ctx, &headwater.ListWebhooksParams{Limit: &limit})
	check(err, webhooks.JSON200 != nil && len(webhooks.JSON200.Data) == 0, "webhooks")

	// A list as CSV and as Parquet.
	as := func(media string) headwater.RequestEditorFn {
		return func(_ context.Context, request *http.Request) error {
			request.Header.Set("Accept", media)
			return nil
		}
	}
	list := headwater.TransactionsRequest{Blockchain: blockchain, Address: address, Limit: &limit}
	csv, err := client.TransactionsWithResponse(ctx, &headwater.TransactionsParams{}, list, as("text/csv"))
	check(err, strings.Count(string(csv.Body), "\n") == 4, "CSV")
	check(nil, csv.HTTPResponse.Header.Get("X-Next-Cursor") != "", "cursor of CSV")
	parquet, err := client.TransactionsWithResponse(ctx, &headwater.TransactionsParams{}, list,
		as("application/vnd.apache.parquet"))
	check(err, string(parquet.Body[:4]) == "PAR1", "Parquet")

	fmt.Println("oapi-codegen: 16 calls")
}
