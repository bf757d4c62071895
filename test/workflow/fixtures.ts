import { WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from '@jest/globals';
import type { InstanceView } from '../../activities/interruption/contract.js';
import type { Candidate, ClaimRef } from '../../workflows/messages.js';

/** A node of the claim that is to go. */
export const candidateOf = (claim: ClaimRef, more: Partial<Candidate> = {}): Candidate => ({
  claim,
  node: `node-${claim.name}`,
  nodePool: 'default',
  instanceType: 'm5.large',
  zone: 'a',
  capacityType: 'spot',
  pricePerHour: 0.1,
  ...more,
});

/** What is known of an instance that the cloud says something of. */
export const knownInstance = (claim: ClaimRef): Extract<InstanceView, { state: 'known' }> => ({
  state: 'known',
  claim,
  nodePool: 'default',
  deleting: false,
  nodeName: 'node-old',
  instanceType: 'm5.large',
  zone: 'a',
  capacityType: 'spot',
  longestGraceMs: 30_000,
  podsToMove: 3,
});

/** The type of the failure by which an update is refused. */
export async function refusalOf(update: Promise<unknown>): Promise<string> {
  const error = await update.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
  return (error as { cause?: { type?: string } }).cause?.type ?? 'none';
}
