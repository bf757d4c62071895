import { z } from 'zod';
import { withRules, withTransitions } from '../schema/rules.js';

const named = (what: string): z.ZodString =>
  withRules(z.string(), { message: `${what} may not be empty`, cel: "self != ''", holds: (self) => self !== '' });

/** A reference to the node class of a claim or pool. */
export const nodeClassRef = z.object({
  group: withRules(z.string().regex(/^[^/]*$/, 'a group without a version, such as karpenter.k8s.aws'), {
    message: 'group may not be empty',
    cel: "self != ''",
    holds: (self) => self !== '',
  }).describe('API group of the node class, without a version.'),
  kind: named('kind').describe('Kind of the node class.'),
  name: named('name').describe('Name of the node class.'),
});

/** Like `nodeClassRef`; a pool may change to another node class of the same kind, not to another kind. */
export const poolNodeClassRef = withTransitions(
  nodeClassRef,
  {
    message: 'nodeClassRef.group is immutable',
    cel: 'self.group == oldSelf.group',
    holds: (self, old) => self.group === old.group,
    field: 'group',
  },
  {
    message: 'nodeClassRef.kind is immutable',
    cel: 'self.kind == oldSelf.kind',
    holds: (self, old) => self.kind === old.kind,
    field: 'kind',
  },
);
