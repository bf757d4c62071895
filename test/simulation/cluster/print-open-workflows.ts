import { parseWorkflowId } from '../../../core/ids.js';
import { explainQuery, runningQuery } from '../../../workflows/messages.js';
import { fromPayload } from '../temporal/payloads.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { Run } from '../temporal/run.js';

/** Prints, for a cluster that does not come to rest, how its open workflows explain themselves, and their pending activities. */
export async function printOpenWorkflows(temporal: SimulatedTemporal, say: (line: string) => void): Promise<void> {
  for (const run of [...temporal.all]) {
    if (!run.isOpen) continue;
    say(`${run.id} explains: ${await answered(temporal, run, explainQuery.name)}`);
    for (const task of temporal.pendingActivities(run)) say(`${run.id} waits for ${JSON.stringify(task.described())}`);
    if (parseWorkflowId(run.id)?.kind === 'disrupt') {
      say(`${run.id} counts as running: ${await answered(temporal, run, runningQuery.name)}`);
    }
  }
}

async function answered(temporal: SimulatedTemporal, run: Run, queryType: string): Promise<string> {
  const [command] = await temporal.ask(run, { queryWorkflow: { queryId: 'why', queryType, arguments: [] } });
  const { succeeded, failed } = command?.respondToQuery ?? {};
  return succeeded ? JSON.stringify(fromPayload(succeeded.response)) : (failed?.message ?? 'nothing');
}
