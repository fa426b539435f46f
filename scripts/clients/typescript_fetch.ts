// Calls of every kind with the client of the OpenAPI generator, typescript-fetch.
import assert from "node:assert/strict";
import {
  AssetsAndMarketDataApi,
  Chain,
  ChainOrEvm,
  Configuration,
  EventsApi,
  OnChainDataApi,
  ResponseError,
  RiskAndIntelligenceApi,
  Sign,
  SystemApi,
  TransactionInclude,
  type ErrorEnvelope,
  type TransferRow,
} from "./headwater/index.js";

const address = "0x8595aa61151393bb3126d8a839e009d066b4b9d3";
const blockchain = Chain.Ethereum;
const settings = new Configuration({ basePath: process.env.URL, apiKey: process.env.KEY });
const market = new AssetsAndMarketDataApi(settings);
const chain = new OnChainDataApi(settings);
const intelligence = new RiskAndIntelligenceApi(settings);

// Returns the error that a call ends with.
async function refusal(call: Promise<unknown>): Promise<[number, ErrorEnvelope]> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ResponseError) return [error.response.status, await error.response.json()];
    throw error;
  }
  throw new Error("the call succeeded");
}

// A success.
const chains = await market.chains();
assert.ok(chains.data.chains.some((one) => one.chain === blockchain && one.nativeDecimals === 18));
assert.equal(chains.meta.creditCost, 0);

// A list of a POST, continued by its cursor; amounts are decimal text.
async function page(cursor: string | null) {
  return (await chain.transactions({ transactionsRequest: { blockchain, address, limit: 3, cursor } })).data;
}
const newest = await page(null);
const older = await page(newest.pagination.nextCursor);
const rows: TransferRow[] = [...newest.datas, ...older.datas];
assert.equal(new Set(rows.map((row) => row.id)).size, 6);
const amount: string | null = rows[0].amount;
assert.match(amount ?? "", /^\d+(\.\d+)?$/);

// A list of a GET, continued by its cursor.
const first = await chain.counterpartyList({ blockchain, address, limit: 2 });
assert.ok(first.data.nextCursor);
const second = await chain.counterpartyList({ blockchain, address, limit: 2, cursor: first.data.nextCursor });
assert.notEqual(second.data.datas[0].address, first.data.datas[0].address);

// Lists of parameters.
const rates = await market.rates({ symbols: ["eth", "usdt"] });
assert.deepEqual(rates.data.rates.map((rate) => rate.symbol), ["eth", "usdt"]);
const other = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221";
const labels = await intelligence.labels({ blockchain, addresses: [address, other] });
assert.ok("results" in labels.data);
assert.deepEqual(labels.data.results.map((one) => one.address), [address, other]);

// A part of the path, and a list of values that have names.
const include = [TransactionInclude.Logs, TransactionInclude.Input];
const found = await chain.transaction({ hash: rows[0].txHash, include });
assert.equal(found.data.txHash, rows[0].txHash);

// An amount range in decimal text, and a value that the description names.
const filterCriterias = [{ symbol: "usdt", minValue: "100.5", sign: Sign.Plus }];
await chain.transactions({ transactionsRequest: { blockchain, address, filterCriterias } });

// A call that is repeated under its key is paid once.
const repeated = { idempotencyKey: `typescript-fetch-${Date.now()}`, walletOverviewRequest: { blockchain, address } };
const paid = await chain.walletOverview(repeated);
const again = await chain.walletOverviewRaw(repeated);
assert.equal(again.raw.headers.get("Idempotent-Replayed"), "true");
assert.equal((await again.value()).meta.requestId, paid.meta.requestId);

// A judgement, whose level is one of three words.
const risk = await intelligence.addressRisk({ addressRiskRequest: { blockchain: ChainOrEvm.Evm, address } });
const level: "low" | "medium" | "high" = risk.data.riskLevel;
assert.ok(["low", "medium", "high"].includes(level));

// Errors with their bodies.
const [status, refused] = await refusal(chain.tokenHolders({ blockchain, contract: "0x12" }));
assert.deepEqual([status, refused.error.code, refused.error.details?.field], [400, "bad_request", "contract"]);
const stranger = new SystemApi(new Configuration({ basePath: process.env.URL, apiKey: "hw_live_no" }));
const [, unknown] = await refusal(stranger.usage());
assert.equal(unknown.error.code, "unauthorized");

// A list of the gateway itself.
const webhooks = await new EventsApi(settings).listWebhooks({ limit: 5 });
assert.deepEqual(webhooks.data, []);

// A list as CSV and as Parquet.
const list = { transactionsRequest: { blockchain, address, limit: 3 } };
const as = (media: string) => async ({ init }: { init: RequestInit }) => ({ headers: { ...init.headers, Accept: media } });
const csv = await chain.transactionsRaw(list, as("text/csv"));
assert.equal((await csv.raw.text()).trim().split("\n").length, 4);
assert.ok(csv.raw.headers.get("X-Next-Cursor"));
const parquet = await chain.transactionsRaw(list, as("application/vnd.apache.parquet"));
assert.equal(new TextDecoder().decode((await parquet.raw.arrayBuffer()).slice(0, 4)), "PAR1");

console.log("typescript-fetch: 16 calls");
