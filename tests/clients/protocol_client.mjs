// A client of the official TypeScript libraries: lists the tools and calls them, and prints what came.
//
//   node protocol_client.mjs NODE_MODULES LIBRARY                          the versions it speaks
//   node protocol_client.mjs NODE_MODULES LIBRARY VERSION STEPS COMMAND…   one session, in that version
//
// STEPS is a JSON array of {name, arguments}; the string "$revision" stands for the last answer's.
// The libraries lie in the folder of the pinned packages, not beside this file: hence `createRequire`.

import { createRequire } from "node:module";

const [nodeModules, library, version, steps, command, ...args] = process.argv.slice(2);
const load = createRequire(`${nodeModules}/`);

// `sdk` is the library's first generation, `client` its second, which also speaks without a handshake.
const libraries = {
  sdk: () => ({
    ...load("@modelcontextprotocol/sdk/client/index.js"),
    ...load("@modelcontextprotocol/sdk/client/stdio.js"),
    handshakes: load("@modelcontextprotocol/sdk/types.js").SUPPORTED_PROTOCOL_VERSIONS,
    modern: [],
  }),
  client: () => {
    const all = load("@modelcontextprotocol/client");
    return {
      ...all,
      ...load("@modelcontextprotocol/client/stdio"),
      handshakes: all.SUPPORTED_PROTOCOL_VERSIONS,
      modern: ["2026-07-28"],
    };
  },
};

const { Client, StdioClientTransport, handshakes, modern } = libraries[library]();

function options() {
  return modern.includes(version) ? { versionNegotiation: { mode: { pin: version } } } : {};
}

// A library offers its newest version only: the older ones are put into its first message.
function offering(transport) {
  const send = transport.send.bind(transport);
  transport.send = (message, ...more) => {
    if (message.method === "initialize") message.params.protocolVersion = version;
    return send(message, ...more);
  };
  return transport;
}

async function session() {
  const client = new Client({ name: `typescript-${library}`, version: "1.0.0" }, options());
  const transport = offering(new StdioClientTransport({ command, args, env: process.env }));
  let negotiated;
  transport.setProtocolVersion = (agreed) => (negotiated = agreed);
  await client.connect(transport);
  const { tools } = await client.listTools();
  const answers = [];
  for (const step of JSON.parse(steps)) {
    const revision = answers.at(-1)?.structuredContent?.revision;
    const given = JSON.parse(JSON.stringify(step), (_, v) => (v === "$revision" ? revision : v));
    answers.push(await client.callTool(given));
  }
  const report = {
    version: client.getNegotiatedProtocolVersion?.() ?? negotiated,
    server: client.getServerVersion(),
    instructions: client.getInstructions(),
    tools,
    answers,
  };
  await client.close();
  return report;
}

console.log(JSON.stringify(version ? await session() : [...handshakes, ...modern]));
