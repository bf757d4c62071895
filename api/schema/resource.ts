import { z } from 'zod';
import type { KubernetesObject, ObjectMeta } from '../kubernetes.js';
import { fromZod, issue, valueAt, type Issue } from './issues.js';
import { openApi, type OpenApiSchema } from './openapi.js';
import { brokenTransitions } from './rules.js';

interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'date' | 'number' | 'boolean';
  jsonPath: string;
  description?: string;
  /** 0: always shown; 1: only with `-o wide`. */
  priority?: number;
}

/** A CustomResourceDefinition of `apiextensions.k8s.io/v1`, as plain JSON. */
export interface CustomResourceDefinition extends KubernetesObject {
  spec: {
    group: string;
    scope: 'Cluster' | 'Namespaced';
    names: {
      kind: string;
      listKind: string;
      plural: string;
      singular: string;
      shortNames?: string[];
      categories?: string[];
    };
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      schema: { openAPIV3Schema: OpenApiSchema };
      subresources: { status: object; scale?: { specReplicasPath: string; statusReplicasPath: string } };
      additionalPrinterColumns?: PrinterColumn[];
    }[];
  };
}

interface ResourceDefinition<Spec extends z.ZodType, Status extends z.ZodType> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly shortNames?: readonly string[];
  readonly categories: readonly string[];
  readonly description: string;
  readonly spec: Spec;
  readonly status: Status;
  readonly printerColumns: readonly PrinterColumn[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
}

/** An object of a kind as stored by the API server, with defaults. */
export interface ResourceObject<Spec, Status> extends KubernetesObject {
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}

type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: readonly Issue[] };

/** Parsing with defaults, validation, and the manifest of a kind, all from one schema. */
export interface Resource<T extends KubernetesObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** `<group>/<version>`. */
  readonly apiVersion: string;
  readonly scope: 'Cluster' | 'Namespaced';
  /**
   * Returns what the API server would store for `object`: unknown fields dropped, defaults set, quantities as strings;
   * or all reasons to reject it. Never throws.
   */
  parse(object: unknown): Parsed<T>;
  /** Like `parse`, for an object known to be valid. Throws an Error that names kind, name and each field. */
  mustParse(object: unknown): T;
  /** The reasons to reject `object` as an update of `old`; both unparsed. */
  updateIssues(object: unknown, old: unknown): readonly Issue[];
  crd(): CustomResourceDefinition;
}

const deepestField = 50;

/**
 * The API server drops a null where the field may not be null, before it sets defaults; Go clients write such nulls
 * (`creationTimestamp: null`). The free-form field `kubelet` is not changed, and neither is anything deeper than the
 * schemas.
 */
function withoutNulls(value: unknown, depth = 0): unknown {
  if (value === null || typeof value !== 'object' || depth > deepestField) return value;
  if (Array.isArray(value)) return value.map((inner: unknown) => withoutNulls(inner, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([name, inner]) => [name, name === 'kubelet' ? inner : withoutNulls(inner, depth + 1)]),
  );
}

function manifest(definition: ResourceDefinition<z.ZodType, z.ZodType>): CustomResourceDefinition {
  const { group, version, kind, plural, shortNames, categories, scale, printerColumns } = definition;
  const optional = definition.spec.safeParse(undefined).success;
  const properties = {
    apiVersion: { type: 'string', description: 'The group and version of this object.' },
    kind: { type: 'string', description: 'The kind of this object.' },
    metadata: { type: 'object' },
    spec: openApi(definition.spec),
    status: openApi(definition.status),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: definition.scope ?? 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames === undefined ? {} : { shortNames: [...shortNames] }),
        categories: [...categories],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: definition.description,
              ...(optional ? {} : { required: ['spec'] }),
              properties,
            },
          },
          subresources: { status: {}, ...(scale === undefined ? {} : { scale: { ...scale } }) },
          ...(printerColumns.length === 0
            ? {}
            : { additionalPrinterColumns: printerColumns.map((column) => ({ ...column })) }),
        },
      ],
    },
  };
}

function nameInMessage(object: unknown): string {
  const name = valueAt(object, ['metadata', 'name']);
  return typeof name === 'string' ? name : '(no name)';
}

/**
 * Creates a kind from its definition. `T` is the TypeScript type, checked by the caller against the schemas' outputs.
 */
export function defineResource<
  Spec extends z.ZodType,
  Status extends z.ZodType,
  T extends KubernetesObject = ResourceObject<z.output<Spec>, z.output<Status>>,
>(definition: ResourceDefinition<Spec, Status>): Resource<T> {
  const { group, version, kind, plural } = definition;
  const apiVersion = `${group}/${version}`;
  const schema = z.object({
    apiVersion: z.literal(apiVersion),
    kind: z.literal(kind),
    metadata: z.looseObject({}),
    spec: definition.spec,
    status: definition.status.optional(),
  });
  const parse = (object: unknown): Parsed<T> => {
    const input = withoutNulls(object);
    const parsed = schema.safeParse(input);
    if (!parsed.success) return { ok: false, error: fromZod(parsed.error, input) };
    return { ok: true, value: parsed.data as unknown as T };
  };
  return {
    group,
    version,
    kind,
    plural,
    apiVersion,
    scope: definition.scope ?? 'Cluster',
    parse,
    mustParse: (object) => {
      const parsed = parse(object);
      if (parsed.ok) return parsed.value;
      throw new Error(`${kind} ${nameInMessage(object)}: ${parsed.error.map(({ message }) => message).join('; ')}`);
    },
    updateIssues: (object, old) => {
      const [now, before] = [parse(object), parse(old)];
      if (!now.ok) return now.error;
      if (!before.ok) return [];
      return brokenTransitions(schema, now.value, before.value).map(({ path, message }) =>
        issue(path, valueAt(now.value, path), 'the previous value', message),
      );
    },
    crd: () => manifest(definition),
  };
}
