import { Client, Connection } from '@temporalio/client';
import { searchAttributes } from '../../workflows/messages.js';
import { counted, hourly, renderTable } from '../../cli/output/table.js';
import type { CloudProxyControl, InstanceView } from '../cloud-proxy/control.js';
import type { Stage } from './story.js';

/** Every instance of the story with its price and the workflows that made and ended it. */
export async function nodeTable({ stack, cloud }: Stage): Promise<string> {
  const workflows = await workflowsByInstance(stack.temporalAddress ?? '', stack.cluster);
  const instances = await cloud.instances();
  const rows = await Promise.all(
    instances.map(async (instance): Promise<string[]> => [
      instance.privateDnsName,
      instance.instanceType,
      instance.lifecycle,
      instance.zone,
      hourly(await priceOf(cloud, instance)),
      instance.state,
      (workflows.get(instance.id) ?? []).join('\n'),
    ]),
  );
  const table = renderTable(['NODE', 'INSTANCE TYPE', 'CAPACITY', 'ZONE', 'PER HOUR', 'STATE', 'WORKFLOWS'], rows);
  const running = instances.filter(({ state }) => state === 'running').length;
  return `${table}\n\n${counted(instances.length, 'instance')} launched, ${running} running.`;
}

async function priceOf(cloud: CloudProxyControl, instance: InstanceView): Promise<number> {
  const { onDemand, spot } = await cloud.prices(instance.instanceType);
  return instance.lifecycle === 'spot' ? (spot[instance.zone] ?? onDemand) : onDemand;
}

/** Ids of the workflows that carry an instance's id as a search attribute, oldest first. */
async function workflowsByInstance(address: string, cluster: string): Promise<Map<string, string[]>> {
  const connection = await Connection.connect({ address });
  try {
    const found: { id: string; instance: string; started: number }[] = [];
    for await (const { workflowId, typedSearchAttributes, startTime } of new Client({ connection }).workflow.list({
      query: `StowageCluster = "${cluster}"`,
    })) {
      const instance = typedSearchAttributes.get(searchAttributes.instanceId);
      if (instance !== undefined) found.push({ id: workflowId, instance, started: startTime.getTime() });
    }
    found.sort((a, b) => a.started - b.started);
    const byInstance = new Map<string, string[]>();
    for (const { id, instance } of found) byInstance.set(instance, [...(byInstance.get(instance) ?? []), id]);
    return byInstance;
  } finally {
    await connection.close();
  }
}
