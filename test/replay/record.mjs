// Records histories from a real server, for test/replay/replay.test.ts: one of each sequence of events, by workflow type.
// Usage, against a stack on which stories were played: TEMPORAL_ADDRESS=host:port node test/replay/record.mjs [VERSION]
// The tests of test/live and test/containment, and those of test/workflow on a server (project workflow-server), do so by themselves with
// RECORD_HISTORIES=VERSION. RECORD_TYPES (separated by commas) and RECORD_SINCE narrow it down.
import { Client, Connection } from '@temporalio/client';
import { currentVersion, keepHistory, writeCounts } from './history-folder.mjs';

/** A whole run ends at 1,500 events; what is longer was cut off. */
const longest = 4000;

const [version = currentVersion()] = process.argv.slice(2);
const connection = await Connection.connect({ address: process.env.TEMPORAL_ADDRESS });
const client = new Client({ connection, namespace: process.env.TEMPORAL_NAMESPACE ?? 'default' });

const since = process.env.RECORD_SINCE;
const query = since === undefined ? undefined : `StartTime > '${since}'`;
const types = process.env.RECORD_TYPES?.split(',');
for await (const { type, workflowId, runId, historyLength } of client.workflow.list({ query })) {
  if ((types !== undefined && !types.includes(type)) || historyLength > longest) continue;
  keepHistory(type, version, await client.workflow.getHandle(workflowId, runId).fetchHistory(), workflowId);
}
console.log(writeCounts());
await connection.close();
