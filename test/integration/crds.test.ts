import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { crdManifests, customResources } from '../../api/crds.js';
import type { KubernetesObject } from '../../api/kubernetes.js';
import type { Issue } from '../../api/schema/issues.js';
import type { Resource } from '../../api/schema/resource.js';
import type { CelValidation } from '../../api/schema/rules.js';
import { http } from '../../tools/stack/http.js';
import { startStack, type Stack } from '../../tools/stack/stack.js';
import { build, type CrdRow, type Patch } from './crd-case-helpers.js';
import { crdRows } from './crd-cases.js';

interface Answer {
  status: number;
  object: KubernetesObject & { spec?: unknown; message?: string };
}

const folder = mkdtempSync(join(tmpdir(), 'stowage-crds-'));
let stack: Stack;
let credentials: { server: string; token: string; ca: string };

/** One call of the API server as its administrator. */
async function call(method: string, path: string, body?: unknown, type = 'application/json'): Promise<Answer> {
  const answer = await http(`${credentials.server}${path}`, {
    method,
    ca: credentials.ca,
    headers: { authorization: `Bearer ${credentials.token}`, 'content-type': type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, object: JSON.parse(answer.body.toString('utf8')) as Answer['object'] };
}

function resourceOf(kind: string): Resource<KubernetesObject> {
  return customResources.find((each) => each.kind === kind)!;
}

function pathOf({ group, version, plural, scope }: Resource<KubernetesObject>): string {
  return `/apis/${group}/${version}/${scope === 'Namespaced' ? 'namespaces/default/' : ''}${plural}`;
}

/** Asks until the API server answers as wanted; each question takes a round trip, so this is no busy loop. */
async function until(ask: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error('The API server does not serve the custom resources.');
  }
}

beforeAll(async () => {
  stack = await startStack({ name: 'crds', folder, parts: ['apiserver'] });
  const config = parse(readFileSync(stack.endpoints.adminKubeconfig!, 'utf8')) as {
    clusters: [
      { cluster: { server: string; 'certificate-authority'?: string; 'certificate-authority-data'?: string } },
    ];
    users: [{ user: { token: string } }];
  };
  const { cluster } = config.clusters[0];
  const ca =
    cluster['certificate-authority'] === undefined
      ? Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64').toString('utf8')
      : readFileSync(cluster['certificate-authority'], 'utf8');
  credentials = { server: cluster.server, token: config.users[0].user.token, ca };
  for (const crd of crdManifests()) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name!}`;
    const query = '?fieldManager=crds-test&force=true&fieldValidation=Strict';
    const { status, object } = await call('PATCH', `${path}${query}`, crd, 'application/apply-patch+yaml');
    if (status > 201) throw new Error(`${crd.metadata.name!}: ${object.message ?? status}`);
  }
  await until(async () => {
    const answers = await Promise.all(customResources.map((each) => call('GET', `${pathOf(each)}?limit=1`)));
    return answers.every(({ status }) => status === 200);
  });
});

afterAll(async () => {
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Values that the API server keeps as numbers and that we read as texts: quantities. */
function comparable(spec: unknown): unknown {
  const quantities = new Set(['limits', 'requests', 'capacity']);
  return JSON.parse(
    JSON.stringify(spec, (name, value: unknown) =>
      quantities.has(name) && value !== null && typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([key, amount]) => [key, String(amount)]))
        : value,
    ),
  );
}

const dryRun = 'dryRun=All&fieldValidation=Ignore';

function validationsIn(value: unknown): CelValidation[] {
  if (value === null || typeof value !== 'object') return [];
  const own = (value as Record<string, unknown>)['x-kubernetes-validations'] as CelValidation[] | undefined;
  return [...(own ?? []), ...Object.values(value).flatMap(validationsIn)];
}

const celMessages = new Set(crdManifests().flatMap((crd) => validationsIn(crd).map(({ message }) => message)));

/** The answer must be the refusal that zod predicts, for the same reasons. */
function expectRefusal(answer: Answer, issues: readonly Issue[]): void {
  const messages = issues.map(({ message }) => message);
  expect({ refused: [400, 422].includes(answer.status), messages }).toEqual({ refused: true, messages });
  // The API server runs CEL only on what has passed the rest of the schema.
  const reasons = issues.flatMap(({ message }) => [...celMessages].filter((each) => message.includes(each)));
  if (reasons.length < issues.length) return;
  for (const reason of reasons) expect(answer.object.message).toContain(reason);
}

/** Creates, as a dry run, what zod has judged: both must agree, and on what would be stored. */
async function compareCreation(kind: string, object: Record<string, unknown>): Promise<boolean> {
  const resource = resourceOf(kind);
  const parsed = resource.parse(object);
  const answer = await call('POST', `${pathOf(resource)}?${dryRun}`, object);
  if (!parsed.ok) {
    expectRefusal(answer, parsed.error);
    return false;
  }
  expect({ status: answer.status, message: answer.object.message }).toEqual({ status: 201, message: undefined });
  expect(comparable(answer.object.spec)).toEqual(comparable((parsed.value as { spec?: unknown }).spec));
  return true;
}

/** Updates, as a dry run, an object that exists in the cluster during the test. */
async function compareUpdate({ kind, from }: CrdRow, patch: Patch, name: string): Promise<boolean> {
  const resource = resourceOf(kind);
  const named = { 'metadata.name': name };
  const old = build(kind, from!, named);
  const stored = await call('POST', pathOf(resource), old);
  expect(stored.status).toBe(201);
  const path = `${pathOf(resource)}/${name}`;
  try {
    const version = { 'metadata.resourceVersion': stored.object.metadata.resourceVersion };
    const answer = await call('PUT', `${path}?${dryRun}`, build(kind, from!, patch, named, version));
    const issues = resource.updateIssues(build(kind, from!, patch, named), old);
    if (issues.length > 0) expectRefusal(answer, issues);
    else expect({ status: answer.status, message: answer.object.message }).toEqual({ status: 200, message: undefined });
    return issues.length === 0;
  } finally {
    await call('DELETE', path);
  }
}

let names = 0;

function compare(row: CrdRow, patch: Patch): Promise<boolean> {
  if (row.from === undefined) return compareCreation(row.kind, build(row.kind, patch));
  names += 1;
  return compareUpdate(row, patch, `case-${names}`);
}

const titled = (patches: readonly Patch[]): (readonly [string, Patch])[] =>
  patches.map((patch) => [JSON.stringify(patch).slice(0, 120), patch]);

describe.each(crdRows.map((row) => [`${row.kind}: ${row.rule}`, row] as const))('%s', (_title, row) => {
  test.each(titled(row.accepts))('the API server accepts %s', async (_text, patch) => {
    expect(await compare(row, patch)).toBe(true);
  });

  test.each(titled(row.refuses))('the API server refuses %s', async (_text, patch) => {
    expect(await compare(row, patch)).toBe(false);
  });
});

describe.each(customResources.map(({ kind }) => kind))('%s', (kind) => {
  const rows = crdRows.filter((row) => row.kind === kind && row.from === undefined);
  const patches = rows.flatMap(({ accepts, refuses }) => [...accepts, ...refuses]);
  const good = rows.flatMap(({ accepts }) => accepts);

  test('zod and the API server agree on random mixtures of the cases', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(patches, { minLength: 1, maxLength: 4 }), async (chosen) => {
        await compareCreation(kind, build(kind, ...chosen));
      }),
      { numRuns: 60 },
    );
  });

  test('zod and the API server fill in the same defaults', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(good, { minLength: 1, maxLength: Math.min(6, good.length) }),
        async (chosen) => {
          await compareCreation(kind, build(kind, ...chosen));
        },
      ),
      { numRuns: 60 },
    );
  });

  test('unknown fields are dropped, and null counts as absent', async () => {
    const strange = { 'spec.unheardOf': { deep: [1] }, 'metadata.creationTimestamp': null, 'spec.weight': null };

    expect(await compareCreation(kind, build(kind, strange))).toBe(true);
  });
});

test('the API server keeps whole numbers as quantities', async () => {
  const numbers = { 'spec.limits': { cpu: 10, memory: '1Gi' } };

  expect(await compareCreation('NodePool', build('NodePool', numbers))).toBe(true);
  expect(resourceOf('NodePool').mustParse(build('NodePool', numbers))).toMatchObject({
    spec: { limits: { cpu: '10', memory: '1Gi' } },
  });
});

test('the API server sets a new KWOKNodeClass Ready and a new NodePool to 0 nodes', async () => {
  const create = async (kind: string): Promise<unknown> => {
    const resource = resourceOf(kind);
    const object = build(kind, { 'metadata.name': 'ready' });
    await call('POST', pathOf(resource), object);
    const stored = await call('GET', `${pathOf(resource)}/ready`);
    await call('DELETE', `${pathOf(resource)}/ready`);
    return (stored.object as { status?: unknown }).status;
  };

  expect(await create('KWOKNodeClass')).toEqual(
    (resourceOf('KWOKNodeClass').mustParse(build('KWOKNodeClass')) as { status?: unknown }).status,
  );
  expect(await create('NodePool')).toBeUndefined();
});

test('a static NodePool is scaled by its scale subresource', async () => {
  const path = pathOf(resourceOf('NodePool'));
  await call('POST', path, build('NodePool', { 'spec.replicas': 2, 'metadata.name': 'scaled' }));

  const scale = await call('GET', `${path}/scaled/scale`);
  const changed = await call(
    'PATCH',
    `${path}/scaled/scale`,
    { spec: { replicas: 3 } },
    'application/merge-patch+json',
  );

  await call('DELETE', `${path}/scaled`);
  expect(scale.object.spec).toEqual({ replicas: 2 });
  expect(changed.object.spec).toEqual({ replicas: 3 });
});

test('status is written apart from spec, and validated by its own rules', async () => {
  const path = pathOf(resourceOf('NodePool'));
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await call('POST', path, build('NodePool', { 'metadata.name': 'watched' }));
  const patch = (status: object): Promise<Answer> =>
    call('PATCH', `${path}/watched/status`, { status }, 'application/merge-patch+json');

  const good = await patch({ conditions: [condition], resources: { cpu: '4' } });
  const twice = await patch({ conditions: [condition, condition] });
  const nameless = await patch({ conditions: [{ ...condition, reason: '' }] });

  await call('DELETE', `${path}/watched`);
  expect([good.status, twice.status, nameless.status]).toEqual([200, 422, 422]);
  expect((good.object as { status?: unknown }).status).toMatchObject({ nodes: 0, resources: { cpu: '4' } });
});

test("kubectl's columns are those of Karpenter", async () => {
  const columns = async (kind: string): Promise<string[]> => {
    const answer = await http(`${credentials.server}${pathOf(resourceOf(kind))}`, {
      ca: credentials.ca,
      headers: {
        authorization: `Bearer ${credentials.token}`,
        accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
      },
    });
    const table = JSON.parse(answer.body.toString('utf8')) as { columnDefinitions: { name: string }[] };
    return table.columnDefinitions.map(({ name }) => name);
  };

  expect(await columns('NodePool')).toEqual(['Name', 'NodeClass', 'Nodes', 'Ready', 'Age', 'Weight', 'CPU', 'Memory']);
  expect(await columns('NodeOverlay')).toEqual(['Name', 'Ready', 'Age', 'Weight']);
  expect(await columns('EC2NodeClass')).toEqual(['Name', 'Ready', 'Age', 'Role']);
});
