// Lists the tools, makes the calls one after another, prints what came of each, and closes.
// An argument "$3.data.task_id" stands for that part of the structured answer to call 3.
function resolved(value, results) {
  const found = /^\$(\d+)\.(.+)$/.exec(value);
  if (!found) return value;
  let part = results[Number(found[1])].result.structuredContent;
  for (const key of found[2].split(".")) part = part[key];
  return part;
}

export async function transcript(client, calls) {
  const { tools } = await client.listTools();
  const results = [];
  for (const { name, arguments: given } of calls) {
    const entries = Object.entries(given).map(([key, value]) => [key, resolved(value, results)]);
    try {
      results.push({ result: await client.callTool({ name, arguments: Object.fromEntries(entries) }) });
    } catch (error) {
      results.push({ thrown: String(error) });
    }
  }
  await client.close();
  console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));
}
