import { describe, expect, test } from '@jest/globals';
import { nodeClaims } from '../api/karpenter/node-claim.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import { isEcho } from './interruptions.js';

const claim = (deletionTimestamp?: string): NodeClaim =>
  nodeClaims.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'default-1', ...(deletionTimestamp !== undefined && { deletionTimestamp }) },
    spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    status: { providerID: 'aws:///us-west-2a/i-1' },
  });

describe('isEcho', () => {
  const ended = { kind: 'instance_terminated', instanceId: 'i-1' } as const;

  test('an instance that ended although its claim is to stay is news', () => {
    expect(isEcho(ended, [claim()])).toBe(false);
  });

  test('an instance that ended because its claim is going, or whose claim is gone, is none', () => {
    expect(isEcho(ended, [claim('2026-01-01T00:00:00Z')])).toBe(true);
    expect(isEcho(ended, [])).toBe(true);
    expect(isEcho({ ...ended, kind: 'instance_stopped' }, [])).toBe(true);
  });

  test('a warning is always news, known claim or not', () => {
    expect(isEcho({ kind: 'spot_interrupted', instanceId: 'i-1' }, [])).toBe(false);
    expect(isEcho({ kind: 'spot_interrupted', instanceId: 'i-1' }, [claim('2026-01-01T00:00:00Z')])).toBe(false);
  });
});
