// Starts `rulecheck lsp` and connects the editor with it over standard input and output.
"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const line = [...workspace.getConfiguration("denpex").get("command"), "lsp"];
  const [command, ...args] = line;
  client = new LanguageClient(
    "denpex",
    "denpex rules",
    { command, args },
    { documentSelector: [{ scheme: "file", language: "denpex" }] },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `\`${line.join(" ")}\` did not start: ${error.message}. Install it with \`pip install 'denpex-rules[lsp]'\`, ` +
        "and name it in the setting denpex.command where it is not on the PATH.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("denpex.restart", restart),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("denpex.command") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
