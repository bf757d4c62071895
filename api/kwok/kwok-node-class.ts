import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import { duration, nodeUpdates, plainConditions } from '../schema/fields.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';

/** The spec of a KWOKNodeClass, which defines simulated nodes. */
const kwokNodeClassSpec = z
  .object({
    nodeRegistrationDelay: duration.optional().describe('How long a launched node takes to register.'),
  })
  // The example of Karpenter's KWOK provider has no spec.
  .prefault({});

// Karpenter's manifest has this default, so that a new class is ready although no controller sets its status. The time
// is arbitrary.
const readyFromTheStart = {
  conditions: [
    { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: '2024-01-01T01:01:01Z' },
  ],
};

const kwokNodeClassStatus = z
  .object({ updates: nodeUpdates, conditions: plainConditions.optional().describe('Conditions of the class.') })
  .prefault(readyFromTheStart as { conditions: Condition[] });

type KWOKNodeClassSpec = z.output<typeof kwokNodeClassSpec>;

interface KWOKNodeClassStatus {
  updates?: z.output<typeof nodeUpdates>;
  conditions?: Condition[] | undefined;
}

/** A KWOKNodeClass as stored by the API server. */
export type KWOKNodeClass = ResourceObject<KWOKNodeClassSpec, KWOKNodeClassStatus>;

/** KWOKNodeClass `karpenter.kwok.sh/v1alpha1`: parsing, validation and manifest. */
export const kwokNodeClasses: Resource<KWOKNodeClass> = defineResource<
  typeof kwokNodeClassSpec,
  typeof kwokNodeClassStatus,
  KWOKNodeClass
>({
  group: 'karpenter.kwok.sh',
  version: 'v1alpha1',
  kind: 'KWOKNodeClass',
  plural: 'kwoknodeclasses',
  shortNames: ['kwoknc', 'kwokncs'],
  categories: ['karpenter'],
  description: 'KWOKNodeClass defines simulated nodes.',
  spec: kwokNodeClassSpec,
  status: kwokNodeClassStatus,
  printerColumns: [],
});
