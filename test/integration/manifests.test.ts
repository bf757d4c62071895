import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject, Pod } from '../../api/kubernetes.js';
import { coreWellKnownLabels } from '../../api/labels.js';
import { convert } from '../../cli/convert.js';
import type { CloudProvider } from '../../cloud/port.js';
import { isTrue } from '../../core/conditions.js';
import { plan } from '../../packing/plan.js';
import { examples, policyOf } from '../../tools/docs/disruption-policy/examples.mjs';
import { awsProvider, briefLags, resolved } from './aws-subject.js';
import { useStack } from './shared-stack.js';

const { stack, cloud } = useStack(['apiserver', 'cloud']);

/** What the real API server says to creating these objects, as a dry run; one line an object. */
async function create(yaml: string): Promise<string[]> {
  const kubectl = promisify(execFile)(
    stack().kubectl ?? '',
    ['--kubeconfig', stack().adminKubeconfig ?? '', 'create', '--dry-run=server', '--validate=strict', '-f', '-'],
    { maxBuffer: 1e8 },
  );
  kubectl.child.stdin?.end(yaml);
  return (await kubectl).stdout.trim().split('\n');
}

const objectsOf = (yaml: string): KubernetesObject[] =>
  parseAllDocuments(yaml).flatMap((document) => {
    const object = document.toJS() as KubernetesObject | null;
    return object === null ? [] : [object];
  });

describe('stowage convert, on a real API server', () => {
  test('its output for every old file is accepted', async () => {
    const folder = 'cli/convert/testdata';
    const files = readdirSync(folder).map((file) => join(folder, file));
    expect(files.length).toBeGreaterThanOrEqual(20);
    const karpenters = files
      .flatMap((file) => convert([file], { report: 'text' }).yaml.split(/^---$/m))
      .filter((text) => /^apiVersion: (karpenter|stowage)/m.test(text));
    const answers = await create(karpenters.join('\n---\n'));
    expect(answers).toHaveLength(karpenters.length);
    for (const answer of answers) expect(answer).toMatch(/ created \(server dry run\)$/);
  });
});

describe('the examples in docs/disruption-policy.md', () => {
  test('are accepted by the API server', async () => {
    const fields = Object.keys(examples);
    const answers = await create(fields.map(policyOf).join('\n---\n'));
    expect(answers).toHaveLength(fields.length);
    for (const answer of answers) expect(answer).toMatch(/ created \(server dry run\)$/);
  });
});

describe('the manifests in examples/nodepools', () => {
  const folder = 'examples/nodepools';
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  const reservation = { id: 'cr-0123456789abcdef0', instanceType: 'm5.large', total: 5, available: 5 };

  // One provider for all: it reads the whole catalogue of the region once.
  let provider: CloudProvider;

  beforeAll(async () => {
    ({ provider } = awsProvider(stack()));
    await cloud().reset();
    const tagged = { ...reservation, zone: `${stack().region}a`, tags: { purpose: 'stowage' } };
    await cloud().configure({ ...briefLags, capacityReservations: [tagged] });
  });

  test('are accepted by the API server, one for each common case', async () => {
    const all = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n---\n');
    const answers = await create(all);
    expect(answers.filter((answer) => answer.startsWith('nodepool.'))).toHaveLength(files.length);
    expect(files.map((file) => file.replace('.yaml', ''))).toEqual(
      expect.arrayContaining(['general', 'gpu', 'memory', 'arm64', 'bottlerocket', 'windows', 'spot', 'reserved']),
    );
  });

  test.each(files)('%s: its node class becomes Ready, and a pod gets a node of its NodePool', async (file) => {
    const objects = objectsOf(readFileSync(join(folder, file), 'utf8'));
    const pool = nodePools.mustParse(objects.find(({ kind }) => kind === 'NodePool'));
    const given = ec2NodeClasses.mustParse(objects.find(({ kind }) => kind === 'EC2NodeClass'));
    const name = pool.metadata.name ?? '';
    const nodeClass = await resolved(provider, { ...given, metadata: { ...given.metadata, uid: `uid-${name}` } });
    const failing = nodeClass.status?.conditions?.filter(({ status }) => status !== 'True');
    expect({ failing, ready: isTrue(nodeClass.status?.conditions, 'Ready') }).toEqual({ failing: [], ready: true });

    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'app', namespace: 'default', uid: 'app', creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: {
        nodeSelector: { 'karpenter.sh/nodepool': name, ...(name === 'windows' ? { 'kubernetes.io/os': name } : {}) },
        tolerations: [{ operator: 'Exists' }],
        containers: [
          {
            name: 'app',
            resources: { requests: { cpu: '500m', ...(name === 'gpu' ? { 'nvidia.com/gpu': '1' } : {}) } },
          },
        ],
      },
      status: {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
      },
    };
    const ready = { ...pool, status: { conditions: [{ type: 'Ready', status: 'True' }] } } as typeof pool;
    const result = plan({
      objects: { pods: [pod], nodePools: [ready] },
      catalogues: new Map([[name, await provider.instanceTypes(pool, nodeClass)]]),
      settings: {
        preferencePolicy: 'Respect',
        minValuesPolicy: 'Strict',
        wellKnownLabels: [...coreWellKnownLabels, ...provider.wellKnownLabels],
        listedTypes: 100,
      },
      now: Date.parse('2026-01-02T00:00:00Z'),
    });
    expect(result.unschedulable).toEqual([]);
    expect(result.newNodeClaims.map(({ nodePool }) => nodePool)).toEqual([name]);
    const { capacityType } = result.newNodeClaims[0]!.cheapest;
    const expected: Record<string, string> = {
      reserved: 'reserved',
      gpu: 'on-demand',
      memory: 'on-demand',
      windows: 'on-demand',
    };
    expect(capacityType).toBe(expected[name] ?? 'spot');
  });
});
