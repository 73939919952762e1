// What the AG-UI client for JavaScript sees of the four endings of a run: one line of JSON.
// Usage: node agui_client.cjs NODE_MODULES PACKAGE BASE_URL SCENE...
const [modules, name, base, ...wanted] = process.argv.slice(2);
const { HttpAgent } = require(require.resolve(name, { paths: [modules] }));

const begun = (event) => event.type === "CUSTOM" && event.name === "rxagent.tool_progress";

async function scene(thread, steps) {
  const agent = new HttpAgent({ url: `${base}/agui`, threadId: thread });
  const seen = [];
  let told = () => {};
  const runs = [];
  const say = (content) => agent.addMessage({ id: `said-${seen.length}-${thread}`, role: "user", content });
  const run = async (parameters = {}) => {
    const error = await agent.runAgent(parameters, {
      onEvent: ({ event }) => { seen.push(event); told(event); },
    }).then(() => null, (caught) => String(caught));
    runs.push(error);
  };
  const until = (look) => new Promise((done) => {
    if (seen.some(look)) done();
    told = (event) => { if (look(event)) done(event); };
  });
  await steps({ agent, say, run, until, seen });
  return {
    errors: runs,
    last: seen.at(-1),
    types: seen.map((event) => event.type),
    outcomes: seen.filter((event) => event.type === "RUN_FINISHED").map((event) => event.outcome?.type),
    left: seen.filter((event) => event.type === "RUN_FINISHED").map((event) => event.outcome?.pendingToolCallIds?.length ?? 0),
    custom: seen.filter((event) => event.type === "CUSTOM").map(({ name, value }) => ({ name, value })),
    messages: agent.messages,
    pending: agent.pendingInterrupts ?? [],
  };
}

const scenes = {
  success: async ({ say, run }) => {
    say("poem please");
    await run();
  },
  cancelled: async ({ say, run, until, seen }) => {
    say("export the report");
    const going = run();
    await until(begun);
    const { runId } = seen.find((event) => event.type === "RUN_STARTED");
    await fetch(`${base}/agui/runs/${encodeURIComponent(runId)}/cancel`, { method: "POST" });
    await going;
    say("go on");
    await run();
  },
  truncated: async ({ agent, say, run, until }) => {
    say("export the report");
    const going = run();
    await until(begun);
    agent.abortRun();
    await going;
    say("go on");
    await run();
  },
  interrupt: async ({ agent, say, run, seen }) => {
    say("refund order 7");
    await run();
    const { interrupts } = seen.at(-1).outcome;
    await run({ resume: interrupts.map(({ id }) => ({ interruptId: id, status: "resolved", payload: { confirmed: true } })) });
  },
  tools: async ({ agent, say, run }) => {
    const parameters = { type: "object", properties: { colour: { type: "string" } } };
    const tools = [{ name: "paint", description: "Paint it.", parameters }];
    say("paint it");
    await run({ tools });
    for (const { id } of agent.messages.flatMap((one) => one.toolCalls ?? [])) {
      agent.addMessage({ id: `result of ${id}`, role: "tool", toolCallId: id, content: "painted" });
    }
    await run({ tools });
    say("context");
    await run({ tools, context: [{ description: "The page", value: "orders" }] });
  },
};

async function main() {
  const found = {};
  for (const one of wanted) found[one] = await scene(`t-${one}`, scenes[one]);
  console.log(JSON.stringify(found));
}
main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
