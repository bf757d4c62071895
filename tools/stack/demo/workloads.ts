import type { KubeClient } from '../../../kube/port.js';
import { deploymentOf } from '../deployment.js';

/** The demo's two kinds of pods: both want one CPU, red ones much more memory. */
const colours = {
  yellow: { cpu: '1', memory: '1G' },
  red: { cpu: '1', memory: '6G' },
} as const;
export type Colour = keyof typeof colours;

const namespace = 'default';

/** Creates the deployment, or scales the one that is there. */
export async function scale(kube: KubeClient, colour: Colour, replicas: number): Promise<void> {
  const { outcome } = await kube.create('Deployment', deploymentOf(colour, replicas, { ...colours[colour] }));
  if (outcome === 'created') return;
  await kube.patch('Deployment', { name: colour, namespace }, { spec: { replicas } });
}

/** Where the pods of both deployments run, by pod name; undefined while one of them does not run or is going. */
export async function placement(kube: KubeClient): Promise<Map<string, { colour: Colour; node: string }> | undefined> {
  const wanted = new Map<Colour, number>();
  for (const { metadata, spec } of await kube.list('Deployment', { namespace })) {
    wanted.set(metadata.name as Colour, spec.replicas ?? 1);
  }
  const pods = await kube.list('Pod', { namespace });
  const placed = new Map<string, { colour: Colour; node: string }>();
  for (const { metadata, spec, status } of pods) {
    if (metadata.deletionTimestamp !== undefined || status?.phase !== 'Running' || spec.nodeName === undefined) {
      return undefined;
    }
    placed.set(metadata.name ?? '', { colour: metadata.labels?.['app'] as Colour, node: spec.nodeName });
  }
  const complete = [...wanted].every(
    ([colour, replicas]) => [...placed.values()].filter((pod) => pod.colour === colour).length === replicas,
  );
  return complete ? placed : undefined;
}

/** The pods and where they stand, for a message. */
export async function describePods(kube: KubeClient): Promise<string> {
  const pods = await kube.list('Pod', { namespace });
  return pods
    .map(
      ({ metadata, spec, status }) =>
        `${metadata.name ?? ''} ${status?.phase ?? 'unknown'} on ${spec.nodeName ?? 'no node'}`,
    )
    .join(', ');
}
