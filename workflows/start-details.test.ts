import { describe, expect, test } from '@jest/globals';
import { inputShapes } from './inputs.js';
import { startOptions } from './messages.js';

const claim = { name: "a'1", uid: 'uid-a' };
const detailsOf = (type: string, input: object): string =>
  startOptions(type, { cluster: 'prod', ...input }, { namespace: 'ops/eu' }).staticDetails;

describe('the static details of a workflow', () => {
  test.each([...inputShapes.keys()])('of %s say what follows if somebody terminates it', (type) => {
    expect(detailsOf(type, {})).toMatch(/terminated|Terminated/);
  });

  test('of a launch link the workflows that asked for it, its termination, and all of its NodeClaim', () => {
    const details = detailsOf('launchNode', {
      claim,
      notify: 'prod/consolidate/1',
      alsoNotify: ['prod/interrupt/i-1'],
    });

    expect(details).toContain(
      'asked for by [`prod/consolidate/1`](/namespaces/ops%2Feu/workflows/prod%2Fconsolidate%2F1)\n' +
        '- asked for by [`prod/interrupt/i-1`]',
    );
    expect(details).toContain('[`prod/terminate/uid-a`](/namespaces/ops%2Feu/workflows/prod%2Fterminate%2Fuid-a)');
    const query = encodeURIComponent("StowageNodeClaim = 'a''1'");
    expect(details).toContain(`[NodeClaim a'1](/namespaces/ops%2Feu/workflows?query=${query})`);
  });

  test('of an interruption link all of its instance', () => {
    const query = encodeURIComponent("StowageInstanceId = 'i-1'");
    expect(detailsOf('handleInterruption', { instanceId: 'i-1' })).toContain(`workflows?query=${query})`);
  });

  test('of a command link launch and termination of its first candidates', () => {
    const candidates = Array.from({ length: 9 }, (_, i) => ({ claim: { name: `c${i}`, uid: `u${i}` }, nodePool: 'p' }));
    const details = detailsOf('consolidate', { candidates });

    expect(details).toContain('prod%2Flaunch%2Fu7');
    expect(details).not.toContain('prod%2Flaunch%2Fu8');
  });

  test('begin with why a node is launched', () => {
    const { staticDetails } = startOptions(
      'launchNode',
      { cluster: 'prod', claim },
      { namespace: 'ops', details: 'cheapest' },
    );
    expect(staticDetails).toMatch(/^cheapest\n\nTerminated or reset/);
  });
});
