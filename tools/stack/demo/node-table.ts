import { Client, Connection } from '@temporalio/client';
import { searchAttributes } from '../../../workflows/messages.js';
import { hourly, renderTable } from '../../../cli/output/table.js';
import { counted } from '../../../core/text.js';
import type { CloudProxyControl, InstanceView } from '../cloud-proxy/control.js';
import type { Setting } from '../stage.js';

/** Every instance of the story with its price and the workflows that made and ended it. */
export async function nodeTable({ stack, cloud }: Setting): Promise<string> {
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

interface Found {
  readonly id: string;
  readonly instance: string | undefined;
  readonly nodeClaim: string | undefined;
  readonly started: number;
}

/** Ids of the workflows about an instance, oldest first: they carry its id, or the name of its NodeClaim. */
async function workflowsByInstance(address: string, cluster: string): Promise<Map<string, string[]>> {
  const found = await workflowsOf(address, cluster);
  const instanceOfClaim = new Map<string, string>();
  for (const { instance, nodeClaim } of found) {
    if (instance !== undefined && nodeClaim !== undefined) instanceOfClaim.set(nodeClaim, instance);
  }
  const byInstance = new Map<string, string[]>();
  for (const { id, instance, nodeClaim } of found) {
    const of = instance ?? instanceOfClaim.get(nodeClaim ?? '');
    const ids = byInstance.get(of ?? '') ?? [];
    if (of !== undefined && !ids.includes(id)) byInstance.set(of, [...ids, id]);
  }
  return byInstance;
}

async function workflowsOf(address: string, cluster: string): Promise<Found[]> {
  const connection = await Connection.connect({ address });
  try {
    const found: Found[] = [];
    for await (const { workflowId, typedSearchAttributes, startTime } of new Client({ connection }).workflow.list({
      query: `StowageCluster = "${cluster}"`,
    })) {
      found.push({
        id: workflowId,
        instance: typedSearchAttributes.get(searchAttributes.instanceId),
        nodeClaim: typedSearchAttributes.get(searchAttributes.nodeClaim),
        started: startTime.getTime(),
      });
    }
    return found.sort((a, b) => a.started - b.started);
  } finally {
    await connection.close();
  }
}
