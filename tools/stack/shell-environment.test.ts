import { expect, test } from '@jest/globals';
import { createNarrator } from './demo/narrator.js';
import { shellLines } from './shell-environment.js';

const stack = { cluster: 'stowage-local', region: 'us-west-2' };

test("the stack's shell has its kubectl and temporal first on PATH, and the administrator's kubeconfig", () => {
  const lines = shellLines({
    ...stack,
    endpoints: {
      ...{ kubectl: '/cache/kubernetes/kubectl', temporal: '/cache/temporal/temporal' },
      ...{ stowageKubeconfig: '/stack/stowage', adminKubeconfig: '/stack/admin', temporalAddress: '127.0.0.1:7233' },
    },
  });
  expect(lines).toContain(`export KUBECONFIG='/stack/admin'`);
  expect(lines).toContain(`export TEMPORAL_ADDRESS='127.0.0.1:7233'`);
  expect(lines.at(-1)).toBe(`export PATH='/cache/kubernetes':'/cache/temporal':"$PATH"`);
});

test("the stack's shell of a stack without these parts has an unchanged PATH", () => {
  expect(shellLines({ ...stack, endpoints: {} })).toEqual([`export CLUSTER_NAME='stowage-local'`]);
});

test.each<[string, boolean, Record<string, string>, boolean]>([
  ['a terminal', true, {}, true],
  ['a terminal with NO_COLOR', true, { NO_COLOR: '1' }, false],
  ['a terminal with an empty NO_COLOR', true, { NO_COLOR: '' }, true],
  ['a file', false, {}, false],
])('the demo has colours on %s: %s', (_name, isTTY, environment, coloured) => {
  let output = '';
  createNarrator({ isTTY, write: (text) => (output += text) }, { now: () => 0, environment }).see('it is there');
  expect(output.includes('\u001b[')).toBe(coloured);
});
