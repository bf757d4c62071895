import { expect, test } from '@jest/globals';
import type { Pod } from '../../../api/kubernetes.js';
import { pod } from '../../cases/objects.js';
import { victimsOf } from './preemption.js';

const of = (name: string, priority?: number): Pod =>
  pod(name, { app: name }, { cpu: '1', memory: '1Gi' }, priority === undefined ? {} : { priority });
const names = (pods: readonly Pod[] | undefined): string[] | undefined =>
  pods?.map(({ metadata }) => metadata.name ?? '').sort();
const oncePodsAreGone = (count: number) => (gone: ReadonlySet<Pod>) => gone.size >= count;

const there = [of('plain'), of('important', 50), of('equal', 100), of('other')];

test.each([
  ['no more than it takes, the least important ones', of('urgent', 100), 1, ['other']],
  ['all of a lower priority, where it takes all', of('urgent', 100), 3, ['important', 'other', 'plain']],
  ['none, where those of a lower priority are too few', of('urgent', 100), 4, undefined],
  ['none for a pod that is no more important', of('waiting'), 1, undefined],
])('preemption in the simulated kube-scheduler, victims on a node: %s', (_, urgent, taken, expected) => {
  expect(names(victimsOf(urgent, there, oncePodsAreGone(taken)))).toEqual(expected);
});
