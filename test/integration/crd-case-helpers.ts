/**
 * What the table of accepted and refused objects (`crd-cases.ts`) is made with. `api/crds.test.ts` runs it against zod, and
 * `crds.test.ts` beside this file runs it against a real API server and compares the two.
 */

/** Values to set, by path from the object's root; undefined removes what is there. */
export type Patch = Readonly<Record<string, unknown>>;

export interface CrdRow {
  readonly kind: string;
  /** What the row is about. */
  readonly rule: string;
  readonly accepts: readonly Patch[];
  readonly refuses: readonly Patch[];
  /** For rules about changes: what the base object is given before the patch is applied as an update. */
  readonly from?: Patch;
}

/** The smallest valid object of each kind. */
export const baseObjects: Readonly<
  Record<string, { apiVersion: string; kind: string; metadata: object; spec: object }>
> = {
  NodePool: {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'case' },
    spec: {
      template: {
        spec: {
          requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        },
      },
    },
  },
  NodeClaim: {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: 'case' },
    spec: {
      requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['general'] }],
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    },
  },
  NodeOverlay: {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name: 'case' },
    spec: { requirements: [{ key: 'karpenter.sh/nodepool', operator: 'In', values: ['general'] }] },
  },
  EC2NodeClass: {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'case' },
    spec: {
      role: 'node-role',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'local' } }],
      securityGroupSelectorTerms: [{ id: 'sg-0123456789abcdef0' }],
    },
  },
  KWOKNodeClass: {
    apiVersion: 'karpenter.kwok.sh/v1alpha1',
    kind: 'KWOKNodeClass',
    metadata: { name: 'case' },
    spec: {},
  },
  DisruptionPolicy: {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: 'case' },
    spec: {},
  },
  DisruptionPause: {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPause',
    metadata: { name: 'case' },
    spec: { scope: { kind: 'NodePool', name: 'general' }, message: 'release week' },
  },
  CapacityBuffer: {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'case', namespace: 'default' },
    spec: { podTemplateRef: { name: 'chunk' }, replicas: 1 },
  },
};

/** `a.b[0].c` as its parts. */
function parts(path: string): (string | number)[] {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** The base object of `kind` with the patches applied one after the other. */
export function build(kind: string, ...patches: readonly Patch[]): Record<string, unknown> {
  const object = structuredClone(baseObjects[kind]!) as unknown as Record<string, unknown>;
  for (const [path, value] of patches.flatMap((patch) => Object.entries(patch))) {
    const steps = parts(path);
    const last = steps.pop()!;
    let at: Record<string | number, unknown> = object;
    for (const [index, step] of steps.entries()) {
      // A path may lead through a value of any kind that another patch has put there.
      if (at[step] === null || typeof at[step] !== 'object')
        at[step] = typeof (steps[index + 1] ?? last) === 'number' ? [] : {};
      at = at[step] as Record<string | number, unknown>;
    }
    if (value === undefined) Reflect.deleteProperty(at, last);
    else at[last] = structuredClone(value);
  }
  return object;
}

/** A row about one field: each value is a case. */
export function field(
  kind: string,
  path: string,
  values: { accepts: readonly unknown[]; refuses: readonly unknown[] },
): CrdRow {
  return {
    kind,
    rule: path,
    accepts: values.accepts.map((value) => ({ [path]: value })),
    refuses: values.refuses.map((value) => ({ [path]: value })),
  };
}

/** `count` times what `make` gives. */
export function many<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export const entries = (count: number): Record<string, string> =>
  Object.fromEntries(many(count, (index) => [`key-${index}`, 'value']));

export const nillableDurations = {
  accepts: ['0s', '30s', '1h30m', '720h', 'Never'],
  refuses: ['', '1d', '30', 'never', '1.5h', '-1h', 30],
};
export const durations = { accepts: ['0s', '30s', '1h30m', '48h'], refuses: ['', '1d', '30', 'Never', '1.5h', '-1h'] };
export const quantities = {
  accepts: ['0', '100m', '1.5', '.5', '-1', '10Gi', '1e3', '2E'],
  refuses: ['', 'ten', '1 Gi', '1gi', '1e.5', '--1'],
};
export const crons = {
  accepts: ['@daily', '0 9 * * mon-fri', ' 0 9 * * 1 ', '61 9 * * *'],
  refuses: ['@reboot', '0 9 * *', '0 0 9 * * *', ''],
};
