import { describe, expect, test } from '@jest/globals';
import type { Pod, ResourceRequirements } from '../../api/kubernetes.js';
import { pod } from '../../test/builders/packing-fixtures.js';
import { Classes } from './classes.js';
import { Dimensions } from './dimensions.js';
import { QuantityReader } from './pod-requests.js';

const asking = (name: string, resources: ResourceRequirements, more: Partial<Pod['spec']> = {}): Pod => {
  const made = pod(name);
  return { ...made, spec: { ...made.spec, containers: [{ name: 'main', resources }], ...more } };
};

/** The names of the pods of each class. */
function classesOf(...pods: readonly Pod[]): string[][] {
  const classes = new Classes(new Dimensions(), new QuantityReader(), [], () => '');
  for (const each of pods) classes.classify(each);
  return classes.all.map((one) => one.pods.map(({ metadata }) => metadata.name!));
}

const plain = asking('plain', { requests: { cpu: '1', memory: '1Gi' } });

describe('classes of pods that request CPU and memory alone', () => {
  test('are the same in whatever order requests are listed', () => {
    const other = asking('other', { requests: { memory: '1Gi', cpu: '1' } });
    expect(classesOf(plain, other, plain)).toEqual([['plain', 'other', 'plain']]);
  });

  test.each<[string, Pod]>([
    ['more CPU', asking('other', { requests: { cpu: '2', memory: '1Gi' } })],
    ['more memory', asking('other', { requests: { cpu: '1', memory: '2Gi' } })],
    ['no memory', asking('other', { requests: { cpu: '1' } })],
    ['something else too', asking('other', { requests: { cpu: '1', memory: '1Gi', 'example.com/gpu': '1' } })],
    [
      'limits that stand for requests',
      asking('other', { requests: { cpu: '1' }, limits: { memory: '1Gi', cpu: '9' } }),
    ],
    ['overhead', asking('other', plain.spec.containers[0]!.resources!, { overhead: { cpu: '1' } })],
    [
      'more for the whole pod',
      asking('other', plain.spec.containers[0]!.resources!, { resources: { requests: { cpu: '9' } } }),
    ],
    ['a second container', asking('other', {}, { containers: [...plain.spec.containers, ...plain.spec.containers] })],
    [
      'an init container',
      asking('other', plain.spec.containers[0]!.resources!, { initContainers: [{ name: 'init' }] }),
    ],
  ])('differ from those of pods with %s', (_, other) => {
    expect(classesOf(plain, other, plain, other)).toEqual([
      ['plain', 'plain'],
      ['other', 'other'],
    ]);
  });
});
