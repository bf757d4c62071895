import type { Workload } from '../../../api/kubernetes.js';
import { annotations } from '../../../api/labels.js';
import { deployments as mixed } from '../../../test/cases/kwok.js';
import type { KwokPoolOptions } from '../../../test/cases/kwok-pool.js';
import type { KubeClient, NewObject } from '../../../kube/port.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { deploymentOf } from '../../stack/deployment.js';
import type { Stack } from '../../stack/stack.js';

/** One measured change of the cluster. */
export interface Step {
  readonly what: string;
  readonly act: (kube: KubeClient, stack: Stack) => Promise<void>;
  /** What ends it: all pods run, or besides nothing has changed for a while. */
  readonly until: 'running' | 'quiet';
}

/** On a fresh stack: a NodePool, and steps one after the other. */
export interface Scenario {
  readonly pool: KwokPoolOptions;
  readonly steps: readonly Step[];
}

type Deployment = NewObject<Workload>;

/** Ten of these fill a node of 4 CPU. */
const tenth = { cpu: '380m', memory: '256Mi' };
const smallNodes = { consolidateAfter: '30s', nodes: '10%', type: 's-4x-amd64-linux' };
const refOf = ({ metadata: { name = '' } }: Deployment): { name: string; namespace: string } => ({
  name,
  namespace: 'default',
});

const of = (pods: number, adjust: (made: Deployment, i: number) => Deployment = (made) => made): Deployment[] =>
  ['a', 'b', 'c'].map((name, i) => adjust(deploymentOf(name, Math.ceil((pods - i) / 3), tenth), i));

const out = (what: string, made: readonly Deployment[]): Step => ({
  what,
  act: async (kube) => {
    for (const each of made) await kube.create('Deployment', each);
  },
  until: 'running',
});

/** Each Deployment gets this share of the replicas that it was made with. */
const scaled = (what: string, made: readonly Deployment[], share: number, until: Step['until']): Step => ({
  what,
  act: async (kube) => {
    for (const each of made)
      await kube.patch('Deployment', refOf(each), {
        spec: { replicas: Math.round((each.spec.replicas ?? 0) * share) },
      });
  },
  until,
});

const podTemplate = (made: readonly Deployment[], what: string, metadata: object): Step => ({
  what,
  act: async (kube) => {
    for (const each of made) await kube.patch('Deployment', refOf(each), { spec: { template: { metadata } } });
  },
  until: 'running',
});

const driftOfAll: Step = {
  what: 'drift of all',
  act: (kube) =>
    kube
      .patch('NodePool', { name: 'default' }, { spec: { template: { metadata: { labels: { revision: 'second' } } } } })
      .then(() => undefined),
  until: 'quiet',
};

function outAndIn(nodes: number): Scenario {
  const made = of(nodes * 10);
  return { pool: smallNodes, steps: [out('out', made), scaled('in to 70%', made, 0.7, 'quiet')] };
}

/** The Deployment with more in the template of its pods. */
const withTemplate = (made: Deployment, more: { readonly metadata?: object; readonly spec?: object }): Deployment => {
  const { metadata, spec, ...rest } = made.spec.template;
  const template = { ...rest, metadata: { ...metadata, ...more.metadata }, spec: { ...spec, ...more.spec } };
  return { ...made, spec: { ...made.spec, template } };
};

/** Its pods are one a node. */
const spread = (made: Deployment): Deployment => {
  const constraint = {
    ...{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' },
    labelSelector: { matchLabels: { app: made.metadata.name } },
  };
  return withTemplate(made, { spec: { topologySpreadConstraints: [constraint] } });
};

const unmovable = (made: Deployment): Deployment =>
  withTemplate(made, { metadata: { annotations: { [annotations.doNotDisrupt]: 'true' } } });

/** kube-scheduler is stopped while nodes come up for pods that it has found unschedulable, for much longer than consolidateAfter. */
const backlog = (made: readonly Deployment[]): Step => ({
  what: 'out, scheduler frozen',
  act: async (kube, stack) => {
    for (const each of made) await kube.create('Deployment', each);
    while ((await kube.list('NodeClaim')).length === 0) await sleep(100);
    stack.freeze('kube-scheduler', true);
    await sleep(120_000);
    stack.freeze('kube-scheduler', false);
  },
  until: 'running',
});

/** Each Deployment goes down to half and up again in turn, one every 20 s for ten minutes. */
const churn = (made: readonly Deployment[]): Step => ({
  what: 'churn',
  act: async (kube) => {
    for (let turn = 0; turn < 30; turn++) {
      const each = made[turn % made.length]!;
      const share = Math.floor(turn / made.length) % 2 === 0 ? 0.5 : 1;
      await kube.patch('Deployment', refOf(each), {
        spec: { replicas: Math.round((each.spec.replicas ?? 0) * share) },
      });
      await sleep(20_000);
    }
  },
  until: 'quiet',
});

/** `npm run bench:race -- --scenario NAME`. */
export const scenarios: Readonly<Record<string, () => Scenario>> = {
  'nodes-100': () => outAndIn(100),
  'nodes-300': () => outAndIn(300),
  'nodes-1000': () => outAndIn(1000),
  large: () => {
    const made = mixed.map(({ name, requests }) => deploymentOf(name, 500, requests));
    const pool = { consolidateAfter: '30s', nodes: '10%' };
    return { pool, steps: [out('out', made), scaled('in to 70%', made, 0.7, 'quiet')] };
  },
  backlog: () => ({ pool: { ...smallNodes, consolidateAfter: '5s' }, steps: [backlog(of(1000))] }),
  burst: () => {
    const made = of(5000);
    const pool = { ...smallNodes, consolidateAfter: 'Never', type: 's-64x-amd64-linux' };
    const steps = [out('out', made), scaled('to none', made, 0, 'running'), scaled('burst', made, 1, 'running')];
    return { pool, steps };
  },
  rollout: () => {
    const made = of(1000);
    const steps = [out('out', made), podTemplate(made, 'all pods anew', { annotations: { revision: 'second' } })];
    return { pool: smallNodes, steps };
  },
  drift: () => ({ pool: smallNodes, steps: [out('out', of(1000)), driftOfAll] }),
  churn: () => {
    const made = of(1000);
    return { pool: smallNodes, steps: [out('out', made), churn(made)] };
  },
  spread: () => ({ pool: smallNodes, steps: [out('out', of(1000, spread))] }),
  unmovable: () => {
    const made = of(1000, (each, i) => (i === 0 ? unmovable(each) : each));
    return { pool: smallNodes, steps: [out('out', made), scaled('in to 70%', made, 0.7, 'quiet')] };
  },
};
