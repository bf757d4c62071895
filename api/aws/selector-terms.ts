import { z } from 'zod';
import { mapOf } from '../schema/fields.js';
import { withRules, type Rule } from '../schema/rules.js';
import { lookUp } from '../../core/own.js';

const tags = withRules(mapOf(z.string(), 20), {
  message: 'tag keys and values may not be empty',
  cel: "self.all(k, k != '' && self[k] != '')",
  holds: (self) => Object.entries(self).every(([key, value]) => key !== '' && value !== ''),
  culprit: (self) => Object.keys(self).find((key) => key === '' || lookUp(self, key) === ''),
})
  .optional()
  .describe('Tags that it must all have; the value * means any value.');

const id = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}-[0-9a-z]+$`))
    .optional()
    .describe('Id.');

type Term = Readonly<Record<string, unknown>>;

const has = (term: Term, field: string): boolean => lookUp(term, field) !== undefined;

const anyOf = (term: string, fields: readonly string[]): string =>
  fields.map((field) => `has(${term}.${field})`).join(' || ');

const atLeastOneOf = (fields: readonly string[]): Rule<Term> => ({
  message: `at least one of ${fields.join(', ')} must be set`,
  cel: anyOf('self', fields),
  holds: (term) => fields.some((field) => has(term, field)),
});

const aloneInItsTerm = (field: string, others: readonly string[]): Rule<Term> => ({
  message: `'${field}' cannot be combined with other fields of its term`,
  cel: `!has(self.${field}) || !(${anyOf('self', others)})`,
  holds: (term) => !has(term, field) || !others.some((other) => has(term, other)),
  field,
});

/**
 * Rejected only if every term combines `field` with others. Karpenter accepts a list in which some terms do, where the
 * id or name decides and the rest is ignored, and a drop-in must too. `node-class-rules.ts` warns of them.
 */
const aloneInSomeTerm = (field: string, others: readonly string[]): Rule<readonly Term[]> => ({
  message: `'${field}' cannot be combined with other fields of its term`,
  cel: `self.size() == 0 || !self.all(t, has(t.${field}) && (${anyOf('t', others)}))`,
  holds: (terms) =>
    terms.length === 0 || !terms.every((term) => has(term, field) && others.some((other) => has(term, other))),
});

const noneIsTooFew: Rule<readonly Term[]> = {
  message: 'at least one term is needed',
  cel: 'self.size() != 0',
  holds: (terms) => terms.length > 0,
};

export const subnetSelectorTerms = withRules(
  z.array(withRules(z.object({ tags, id: id('subnet') }), atLeastOneOf(['tags', 'id']))).max(30),
  noneIsTooFew,
  aloneInSomeTerm('id', ['tags']),
);

const securityGroupTerm = withRules(
  z.object({ tags, id: id('sg'), name: z.string().optional().describe('Name, not the Name tag.') }),
  atLeastOneOf(['tags', 'id', 'name']),
);

export const securityGroupSelectorTerms = withRules(
  z.array(securityGroupTerm).max(30),
  noneIsTooFew,
  aloneInSomeTerm('id', ['tags', 'name']),
  aloneInSomeTerm('name', ['tags', 'id']),
);

const capacityReservationTerm = withRules(
  z.object({
    tags,
    id: id('cr'),
    ownerID: z
      .string()
      .regex(/^[0-9]{12}$/)
      .optional()
      .describe('Owning account.'),
    instanceMatchCriteria: z.enum(['open', 'targeted']).optional().describe('Which instances may use it.'),
  }),
  atLeastOneOf(['tags', 'id', 'instanceMatchCriteria']),
);

export const capacityReservationSelectorTerms = withRules(
  z.array(capacityReservationTerm).max(30),
  aloneInSomeTerm('id', ['tags', 'ownerID', 'instanceMatchCriteria']),
);

export const placementGroupSelector = withRules(
  z.object({ name: z.string().min(1).optional().describe('Name.'), id: id('pg') }),
  {
    message: "exactly one of 'name' and 'id' must be set",
    cel: 'has(self.name) != has(self.id)',
    holds: (self) => (self.name === undefined) !== (self.id === undefined),
  },
);

/** Families allowed in an alias. */
const aliasFamilies = ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025'] as const;

const alias = withRules(
  z
    .string()
    .max(30)
    .regex(new RegExp(`^(${aliasFamilies.join('|')})@.+$`)),
  {
    message: "the only version of Windows families is 'latest'",
    cel: "!self.startsWith('windows') || self.endsWith('@latest')",
    holds: (self) => !self.startsWith('windows') || self.endsWith('@latest'),
  },
);

const amiTerm = withRules(
  z.object({
    alias: alias.optional().describe('An image of EKS as family@version, such as al2023@latest.'),
    tags,
    id: id('ami'),
    name: z.string().optional().describe('Name, not the Name tag; * matches any text.'),
    owner: z.string().optional().describe('Owner: account ids, self, amazon or aws-marketplace.'),
    ssmParameter: z.string().optional().describe('SSM parameter that holds an image id: its name or ARN.'),
  }),
  atLeastOneOf(['tags', 'id', 'name', 'alias', 'ssmParameter']),
  aloneInItsTerm('id', ['alias', 'tags', 'name', 'owner']),
  aloneInItsTerm('alias', ['id', 'tags', 'name', 'owner']),
);

export const amiSelectorTerms = withRules(z.array(amiTerm).min(1).max(30), {
  message: 'a term with an alias must be the only one',
  cel: '!self.exists(t, has(t.alias)) || self.size() == 1',
  holds: (terms) => terms.length === 1 || terms.every((term) => term.alias === undefined),
});
