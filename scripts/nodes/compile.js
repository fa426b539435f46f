// Compiles the contracts: node compile.js OUT, which gets {name: {abi, bytecode}} as JSON.
"use strict";

const fs = require("fs");
const path = require("path");
const solc = require("solc");

const folder = path.join(__dirname, "contracts");
const sources = {};
for (const file of fs.readdirSync(folder).sort()) {
  sources[file] = { content: fs.readFileSync(path.join(folder, file), "utf8") };
}
const input = {
  language: "Solidity",
  sources,
  settings: {
    evmVersion: "paris",
    optimizer: { enabled: true },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const errors = (output.errors ?? []).filter((error) => error.severity === "error");
if (errors.length > 0) {
  console.error(errors.map((error) => error.formattedMessage).join("\n"));
  process.exit(1);
}
const contracts = {};
for (const file of Object.values(output.contracts)) {
  for (const [name, { abi, evm }] of Object.entries(file)) {
    contracts[name] = { abi, bytecode: `0x${evm.bytecode.object}` };
  }
}
fs.writeFileSync(process.argv[2], JSON.stringify(contracts));
