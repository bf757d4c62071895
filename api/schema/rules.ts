import { z } from 'zod';
import { lookUp } from '../../core/own.js';

/**
 * One validation rule in two forms: `holds` for zod and `cel` for the API server. The shared test cases (api/testdata)
 * prove that they agree.
 */
export interface Rule<T> {
  /** The message if the rule is violated. */
  readonly message: string;
  /** The rule in CEL over `self`, for `x-kubernetes-validations`. */
  readonly cel: string;
  /** The rule over the defaulted value. */
  readonly holds: (self: T) => boolean;
  /** The field of `self` that is wrong, if there is one. */
  readonly field?: string;
  /** The map key that is wrong in this value: zod's issue names it; CEL cannot. */
  readonly culprit?: (self: T) => string | undefined;
}

/** A rule about a change, with both values. Such rules are not allowed below lists, whose items have no identity. */
interface Transition<T> {
  readonly message: string;
  /** CEL over `self` and `oldSelf`. */
  readonly cel: string;
  readonly holds: (self: T, old: T) => boolean;
  readonly field?: string;
}

/** An entry of `x-kubernetes-validations`. */
export interface CelValidation {
  rule: string;
  message: string;
  fieldPath?: string;
}

const validationsKey = 'x-kubernetes-validations';

const transitions = z.registry<{ rules: readonly Transition<unknown>[] }>();

/** Adds keywords for the manifest (`format`, `x-kubernetes-*`) to those of the schema. */
export function annotate<S extends z.ZodType>(schema: S, facts: Readonly<Record<string, unknown>>): S {
  return schema.meta({ ...schema.meta(), ...facts });
}

function withCel<S extends z.ZodType>(
  schema: S,
  added: readonly { cel: string; message: string; field?: string }[],
): S {
  const before = (schema.meta()?.[validationsKey] ?? []) as CelValidation[];
  const after = added.map(({ cel, message, field }) => ({
    rule: cel,
    message,
    ...(field === undefined ? {} : { fieldPath: `.${field}` }),
  }));
  return annotate(schema, { [validationsKey]: [...before, ...after] });
}

function checked<S extends z.ZodType>(schema: S, rules: readonly Omit<Rule<z.output<S>>, 'cel'>[]): S {
  return schema.superRefine((self, context) => {
    for (const { holds, message, field, culprit } of rules) {
      if (holds(self)) continue;
      const child = field ?? culprit?.(self);
      const path = child === undefined ? [] : [child];
      context.addIssue({ code: 'custom', message, path, params: { allowed: message }, continue: true });
    }
  });
}

/** The schema with rules that both zod and the API server enforce. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: readonly Rule<z.output<S>>[]): S {
  return withCel(checked(schema, rules), rules);
}

/** The schema with a rule for which manifests have a keyword (`maxProperties`, list types). */
export function withKeyword<S extends z.ZodType>(
  schema: S,
  keyword: Readonly<Record<string, unknown>>,
  rule: Omit<Rule<z.output<S>>, 'cel'>,
): S {
  return annotate(checked(schema, [rule]), keyword);
}

/** The schema with transition rules, checked by `transitionIssues` and by the API server. */
export function withTransitions<S extends z.ZodType>(schema: S, ...rules: readonly Transition<z.output<S>>[]): S {
  const marked = withCel(schema, rules);
  transitions.add(marked, { rules: rules as readonly Transition<unknown>[] });
  return marked;
}

interface BrokenTransition {
  readonly path: readonly string[];
  readonly message: string;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const def = (schema as z.ZodType)._zod.def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType };
  const inner = def.innerType ?? def.in;
  return inner === undefined ? schema : unwrap(inner);
}

/** The transition rules that the change from `old` to `now` violates. Both are defaulted values of `schema`. */
export function brokenTransitions(
  schema: z.core.$ZodType,
  now: unknown,
  old: unknown,
  path: readonly string[] = [],
): BrokenTransition[] {
  if (now === undefined || old === undefined) return [];
  const target = unwrap(schema);
  const broken: BrokenTransition[] = [];
  for (const { holds, message, field } of transitions.get(target as z.ZodType)?.rules ?? []) {
    if (!holds(now, old)) broken.push({ path: field === undefined ? path : [...path, field], message });
  }
  if (target instanceof z.ZodObject) {
    const shape: z.core.$ZodShape = target.shape;
    for (const [name, child] of Object.entries(shape)) {
      const value = lookUp(now as Record<string, unknown>, name);
      broken.push(...brokenTransitions(child, value, lookUp(old as Record<string, unknown>, name), [...path, name]));
    }
  }
  return broken;
}
