// Calls of every kind with openapi-fetch and the types of openapi-typescript.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./headwater.js";

type Row = components["schemas"]["TransferRow"];

const address = "0x8595aa61151393bb3126d8a839e009d066b4b9d3";
const blockchain = "ethereum";
const settings = { baseUrl: process.env.URL, headers: { "X-API-Key": process.env.KEY } };
const client = createClient<paths, "application/json">(settings);

// A success.
const chains = await client.GET("/v1/chains");
assert.ok(chains.data);
assert.ok(chains.data.data.chains.some((chain) => chain.chain === blockchain && chain.native_decimals === 18));
assert.equal(chains.data.meta.credit_cost, 0);

// A list of a POST, continued by its cursor; amounts are decimal text.
async function page(cursor: string | null) {
  const { data } = await client.POST("/v1/transactions", { body: { blockchain, address, limit: 3, cursor } });
  assert.ok(data);
  return data.data;
}
const newest = await page(null);
const older = await page(newest.pagination.next_cursor);
const rows: Row[] = [...newest.datas, ...older.datas];
assert.equal(new Set(rows.map((row) => row.id)).size, 6);
const amount: string | null = rows[0].amount;
assert.match(amount ?? "", /^\d+(\.\d+)?$/);

// A list of a GET, continued by its cursor.
const first = await client.GET("/v2/counterparty/list", { params: { query: { blockchain, address, limit: 2 } } });
assert.ok(first.data?.data.next_cursor);
const second = await client.GET("/v2/counterparty/list", {
  params: { query: { blockchain, address, limit: 2, cursor: first.data.data.next_cursor } },
});
assert.ok(second.data);
assert.notEqual(second.data.data.datas[0].address, first.data.data.datas[0].address);

// Lists of parameters.
const rates = await client.GET("/v1/rates", { params: { query: { symbols: ["eth", "usdt"] } } });
assert.deepEqual(rates.data?.data.rates.map((rate) => rate.symbol), ["eth", "usdt"]);
const other = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221";
const labels = await client.GET("/v1/labels", { params: { query: { blockchain, addresses: [address, other] } } });
assert.ok(labels.data && "results" in labels.data.data);
assert.deepEqual(labels.data.data.results.map((one) => one.address), [address, other]);

// A part of the path, and a list of values that have names.
const found = await client.GET("/v1/transaction/{hash}", {
  params: { path: { hash: rows[0].tx_hash }, query: { include: ["logs", "input"] } },
});
assert.equal(found.data?.data.tx_hash, rows[0].tx_hash);

// An amount range in decimal text, and a value that the description names.
const ranged = await client.POST("/v1/transactions", {
  body: { blockchain, address, filter_criterias: [{ symbol: "usdt", min_value: "100.5", sign: "+" }] },
});
assert.ok(ranged.data);

// A call that is repeated under its key is paid once.
const header = { "Idempotency-Key": `openapi-fetch-${Date.now()}` };
const paid = await client.POST("/v1/wallet-overview", { params: { header }, body: { blockchain, address } });
const again = await client.POST("/v1/wallet-overview", { params: { header }, body: { blockchain, address } });
assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");
assert.equal(again.data?.meta.request_id, paid.data?.meta.request_id);

// A judgement, whose level is one of three words.
const risk = await client.POST("/v1/address-risk", { body: { blockchain: "evm", address } });
assert.ok(risk.data);
const level: "low" | "medium" | "high" = risk.data.data.risk_level;
assert.ok(["low", "medium", "high"].includes(level));

// Errors with their bodies.
const refused = await client.GET("/v1/token/holders", { params: { query: { blockchain, contract: "0x12" } } });
assert.equal(refused.response.status, 400);
assert.equal(refused.error?.error.code, "bad_request");
assert.equal(refused.error?.error.details?.field, "contract");
const stranger = createClient<paths, "application/json">({ ...settings, headers: { "X-API-Key": "hw_live_no" } });
const unknown = await stranger.GET("/v1/usage");
assert.equal(unknown.error?.error.code, "unauthorized");

// A list of the gateway itself.
const webhooks = await client.GET("/v1/webhooks", { params: { query: { limit: 5 } } });
assert.deepEqual(webhooks.data?.data, []);

// A list as CSV and as Parquet.
const csv = createClient<paths, "text/csv">({ ...settings, headers: { ...settings.headers, Accept: "text/csv" } });
const table = await csv.POST("/v1/transactions", { body: { blockchain, address, limit: 3 }, parseAs: "text" });
const text: string | undefined = table.data;
assert.equal(text?.trim().split("\n").length, 4);
assert.ok(table.response.headers.get("X-Next-Cursor"));
const media = "application/vnd.apache.parquet";
const binary = createClient<paths, typeof media>({ ...settings, headers: { ...settings.headers, Accept: media } });
const parquet = await binary.POST("/v1/transactions", { body: { blockchain, address, limit: 3 }, parseAs: "arrayBuffer" });
const bytes: unknown = parquet.data;
assert.ok(bytes instanceof ArrayBuffer);
assert.equal(new TextDecoder().decode(bytes.slice(0, 4)), "PAR1");

console.log("openapi-fetch: 16 calls");
