import { z } from 'zod';
import { showFound } from '../schema/issues.js';

/**
 * Prepaid capacity of an account, which is planned at the marginal price of using it (instance-types/commitments).
 * Users write it as a file of YAML or JSON.
 */

const name = z.string().min(1).max(100).describe('Name in plans and messages; unique in a file.');
const amount = z.number().positive();
const share = z.number().min(0).lt(1);
const instanceType = z.string().regex(/^[a-z0-9-]+\.[a-z0-9-]+$/, 'must be an instance type, such as m5.large');
const instanceFamily = z.string().regex(/^[a-z0-9-]+$/, 'must be an instance family, such as m5');
const moment = z.iso.datetime({ offset: true, error: 'must be a date and time, such as 2027-06-30T00:00:00Z' });

const common = { name, until: moment.optional().describe('When it ends; absent means never.') };

const dollars = {
  perHour: amount.describe('Committed amount, dollars per hour.'),
  usedElsewhere: z.number().min(0).default(0).describe('Part of it used outside of this cluster, dollars per hour.'),
  discount: share.describe('Discount of its rates from on-demand prices: 0.28 for 28%.'),
};

const computeSavingsPlan = z.strictObject({
  kind: z.literal('ComputeSavingsPlan'),
  ...common,
  ...dollars,
  familyDiscounts: z
    .record(instanceFamily, share)
    .default({})
    .describe('Families with another discount, such as `c5: 0.31`.'),
});

const instanceSavingsPlan = z.strictObject({
  kind: z.literal('EC2InstanceSavingsPlan'),
  ...common,
  ...dollars,
  instanceFamily: instanceFamily.describe('The instance family that it covers.'),
});

const reservedInstances = z.strictObject({
  kind: z.literal('ReservedInstances'),
  ...common,
  instanceType: instanceType.describe('The instance type that is reserved.'),
  count: z.int().positive().describe('How many instances are reserved.'),
  usedElsewhere: z.number().min(0).default(0).describe('How many of them are used outside of this cluster.'),
  zone: z
    .string()
    .min(1)
    .optional()
    .describe('The zone of a zonal reservation, which covers only this type; absent means the whole region.'),
  sizeFlexible: z
    .boolean()
    .default(true)
    .describe('Whether a regional reservation covers other sizes of its family by their normalized units.'),
});

const commitment = z.discriminatedUnion('kind', [computeSavingsPlan, instanceSavingsPlan, reservedInstances]);

const commitmentsSchema = z.strictObject({
  commitments: z.array(commitment).max(200),
});

export type Commitment = z.output<typeof commitment>;

/**
 * Validates a parsed file of commitments. Messages name the field, what was found and what is allowed; `where` names
 * the file.
 */
export function readCommitments(
  document: unknown,
  where: string,
): { readonly commitments: readonly Commitment[]; readonly problems: readonly string[] } {
  const parsed = commitmentsSchema.safeParse(document, { reportInput: true });
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${where}: ${fieldOf(issue.path)}: ${textOf(issue)}`);
    return { commitments: [], problems };
  }
  const { commitments } = parsed.data;
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const [i, { name: own }] of commitments.entries()) {
    if (seen.has(own)) problems.push(`${where}: commitments[${i}].name: found "${own}" a second time, ${ownName}`);
    seen.add(own);
  }
  return { commitments: problems.length > 0 ? [] : commitments, problems };
}

const ownName = 'names of commitments must be unique';

type Issue = z.core.$ZodIssue;

function fieldOf(path: Issue['path']): string {
  const text = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return text === '' ? 'the file' : text.replace(/^\./, '');
}

function textOf(issue: Issue): string {
  if (issue.code === 'unrecognized_keys')
    return `found ${issue.keys.map((key) => `"${key}"`).join(', ')}, which is not a field`;
  const input = issue.code === 'invalid_union' ? kindOf(issue.input) : issue.input;
  return `found ${showFound(input)}, ${allowedBy(issue)}`;
}

const kindOf = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'kind' in input ? input.kind : undefined;

const kinds = ['ComputeSavingsPlan', 'EC2InstanceSavingsPlan', 'ReservedInstances'];

function allowedBy(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`;
    case 'too_small':
      return `must be ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `must be ${issue.inclusive === true ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_union':
      return `must be one of ${kinds.join(', ')}`;
    default:
      return issue.message;
  }
}
