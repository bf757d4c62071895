import { fromPayload } from '../temporal/payloads.js';
import type { SimulatedTemporal } from '../temporal/engine.js';
import type { Run } from '../temporal/run.js';
import { explainQuery } from '../../../workflows/messages.js';
import type { Explanation } from '../../../workflows/messages.js';

/** Facts that hold for as long as something is waited for or does not succeed; what happened last is reported otherwise. */
const passing = ['slots waited for', 'waiting for approval', 'not created', 'blocked by', 'can be ended by'];

/** What workflows that live on say of what is past as though it were so still: people read it. */
export async function* saidAtRest(temporal: SimulatedTemporal): AsyncIterable<string> {
  for (const run of [...temporal.all]) {
    if (!run.isOpen) continue;
    const { facts, failing, question } = await explanationOf(temporal, run);
    for (const name of passing) {
      const fact = facts[name] ?? 'nothing';
      if (fact !== 'nothing') yield `workflow ${run.id} still says "${name}": ${String(fact)}`;
    }
    if (failing !== undefined) yield `workflow ${run.id} still says that it fails: ${failing.why}`;
    if (question !== undefined) yield `workflow ${run.id} still asks a question`;
  }
}

async function explanationOf(temporal: SimulatedTemporal, run: Run): Promise<Explanation> {
  const query = { queryId: 'at rest', queryType: explainQuery.name, arguments: [] };
  const [command] = await temporal.ask(run, { queryWorkflow: query });
  return (fromPayload(command?.respondToQuery?.succeeded?.response) ?? { phase: '', facts: {} }) as Explanation;
}
