import { expect, test } from '@jest/globals';
import { labels } from '../../api/labels.js';
import { packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { apart, near, topologyOf } from '../../test/builders/topology.js';
import { PodAffinities } from './pod-affinities.js';

const web = { labels: { app: 'web' } };
const preferring = {
  affinity: {
    podAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 1,
          podAffinityTerm: near('web').affinity!.podAffinity!.requiredDuringSchedulingIgnoredDuringExecution![0]!,
        },
      ],
    },
  },
};

test.each([
  ['none', web, [], { anyone: false, others: false }],
  ['anti-affinity', { ...web, ...apart('web') }, [], { anyone: false, others: false }],
  ['to its like', { ...web, ...near('web') }, [], { anyone: true, others: false }],
  ['to its like by host name', { ...web, ...near('web', labels.hostname) }, [], { anyone: true, others: false }],
  ['to others', near('web'), [], { anyone: true, others: true }],
  ['to others by host name', near('web', labels.hostname), [], { anyone: true, others: true }],
  ['to its like and to others without it', { ...web, ...near('web') }, [pod('q', web)], { anyone: true, others: true }],
  ['preferred', { ...web, ...preferring }, [], { anyone: true, others: true }],
])('reading pod affinity: %s', (_, options, others, expected) => {
  const own = pod('p', options);
  const { compiled, book } = topologyOf(packingInput({ pods: [own, ...others] }));
  const affinities = new PodAffinities(compiled, book);
  const podClass = compiled.classes.all.find(({ pods }) => pods.includes(own))!;
  expect({ anyone: affinities.forAnyone(podClass), others: affinities.forOthers(podClass) }).toEqual(expected);
});
