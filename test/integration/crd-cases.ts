import type { CrdRow } from './crd-case-helpers.js';
import { ec2NodeClassRows } from './crd-cases-aws.js';
import { karpenterRows, otherRows } from './crd-cases-karpenter.js';
import { disruptionPauseRows } from './crd-cases-pause.js';
import { disruptionPolicyRows } from './crd-cases-policy.js';

/**
 * One table of what the custom resources accept and refuse: each validation rule has at least one case of both.
 * `api/crds.test.ts` runs it against zod; `crds.test.ts` beside this file runs it against a real API server and
 * proves that the two agree.
 */
export const crdRows: readonly CrdRow[] = [
  ...karpenterRows,
  ...ec2NodeClassRows,
  ...disruptionPolicyRows,
  ...disruptionPauseRows,
  ...otherRows,
];
