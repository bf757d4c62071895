import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { crdManifests } from '../api/crds.js';
import { isTrue } from '../core/conditions.js';
import { createKubeClient } from '../kube/client.js';
import type { Kinds, KubeClient, NewObject } from '../kube/port.js';

type Definition = Kinds['CustomResourceDefinition'];

const servedMs = 60_000;
const pollMs = 250;

/**
 * `stowage crds --apply`: creates or updates the cluster's CustomResourceDefinitions to this version, and waits until
 * they are served.
 */
export async function applyCrds(kubeconfig: string | undefined): Promise<string> {
  const kube = createKubeClient({
    userAgent: 'stowage-crds',
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  });
  try {
    const lines: string[] = [];
    for (const manifest of crdManifests()) {
      const { metadata, spec } = manifest as unknown as Definition;
      lines.push(`${metadata.name ?? ''} ${await applied(kube, { metadata, spec })}`);
    }
    await untilServed(kube);
    return `${lines.join('\n')}\n`;
  } finally {
    kube.close();
  }
}

/** Updates the schemas of an existing definition; other fields stay. */
async function applied(
  kube: KubeClient,
  definition: NewObject<Definition>,
): Promise<'created' | 'configured' | 'unchanged'> {
  const { outcome, object } = await kube.create('CustomResourceDefinition', definition);
  if (outcome === 'created') return 'created';
  const { name = '', annotations, labels } = definition.metadata;
  const patch = { metadata: { annotations, labels }, spec: definition.spec };
  const answer = await kube.patch('CustomResourceDefinition', { name }, patch);
  if (answer.outcome !== 'patched') return applied(kube, definition);
  return answer.object.metadata.resourceVersion === object.metadata.resourceVersion ? 'unchanged' : 'configured';
}

async function untilServed(kube: KubeClient): Promise<void> {
  const deadline = Date.now() + servedMs;
  for (const { metadata } of crdManifests()) {
    const name = metadata.name ?? '';
    while (!isTrue((await kube.get('CustomResourceDefinition', { name }))?.status?.conditions, 'Established')) {
      if (Date.now() > deadline)
        throw new Error(`CustomResourceDefinition ${name} is not established after ${servedMs / 1000} seconds`);
      await delay(pollMs);
    }
  }
}

/** `stowage crds`: the manifests of every custom resource, as YAML documents for `kubectl apply -f -`. */
export function crdYaml(): string {
  return crdManifests()
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}
