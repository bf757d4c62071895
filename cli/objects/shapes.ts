import {
  anything,
  both,
  FieldError,
  flag,
  integer,
  listOf,
  mapOf,
  nonEmptyText,
  oneOf,
  quantity,
  shape,
  someOf,
  text,
  time,
  type Check,
} from './check.js';

/**
 * The fields of Kubernetes' own objects that packing reads, with what the API server would insist on. Files come from
 * people and scripts as well as from `kubectl get`, so nothing is taken on trust.
 */
const metadata = shape(
  {
    name: nonEmptyText,
    namespace: text,
    uid: text,
    labels: mapOf(text),
    annotations: mapOf(text),
    creationTimestamp: time,
    deletionTimestamp: time,
    ownerReferences: listOf(shape({ kind: text, name: text, uid: text, controller: flag }, ['kind', 'name'])),
  },
  ['name'],
);

const needsValues =
  (operators: readonly string[], exactlyOne: readonly string[]): Check =>
  (value, field) => {
    const { operator, values } = value as { operator: string; values?: unknown[] };
    const count = values?.length ?? 0;
    if (exactlyOne.includes(operator)) {
      if (count !== 1 || !/^-?\d+$/.test(String(values?.[0])))
        throw new FieldError(`${field}.values`, `one integer for operator ${operator}`, values);
    } else if (operators.includes(operator) !== count > 0) {
      throw new FieldError(
        `${field}.values`,
        operators.includes(operator)
          ? `at least one value for operator ${operator}`
          : `no values for operator ${operator}`,
        values,
      );
    }
  };

const nodeRequirement = both(
  shape(
    {
      key: nonEmptyText,
      operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'),
      values: listOf(text),
    },
    ['key', 'operator'],
  ),
  needsValues(['In', 'NotIn'], ['Gt', 'Lt', 'Gte', 'Lte']),
);
const nodeTerm = shape({ matchExpressions: listOf(nodeRequirement), matchFields: listOf(anything) });
const nodeSelector = shape({ nodeSelectorTerms: someOf(nodeTerm) }, ['nodeSelectorTerms']);

const labelSelector = shape({
  matchLabels: mapOf(text),
  matchExpressions: listOf(
    both(
      shape({ key: nonEmptyText, operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'), values: listOf(text) }, [
        'key',
        'operator',
      ]),
      needsValues(['In', 'NotIn'], []),
    ),
  ),
});

const affinityTerm = shape(
  {
    labelSelector,
    namespaces: listOf(text),
    namespaceSelector: labelSelector,
    topologyKey: nonEmptyText,
    matchLabelKeys: listOf(text),
    mismatchLabelKeys: listOf(text),
  },
  ['topologyKey'],
);
const weight: Check = (value, field) => {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 100)
    throw new FieldError(field, 'a whole number from 1 to 100', value);
};

const podAffinity = shape({
  requiredDuringSchedulingIgnoredDuringExecution: listOf(affinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    shape({ weight, podAffinityTerm: affinityTerm }, ['weight', 'podAffinityTerm']),
  ),
});

const positive: Check = (value, field) => {
  if (!Number.isInteger(value) || (value as number) < 1)
    throw new FieldError(field, 'a whole number of at least 1', value);
};

const port: Check = (value, field) => {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > 65535)
    throw new FieldError(field, 'a port from 0 to 65535', value);
};

const resources = shape({ requests: mapOf(quantity), limits: mapOf(quantity) });
const container = shape({
  name: text,
  resources,
  restartPolicy: oneOf('Always', 'Never', 'OnFailure'),
  ports: listOf(shape({ containerPort: port, hostPort: port, hostIP: text, protocol: oneOf('TCP', 'UDP', 'SCTP') })),
});

const toleration = both(
  shape({
    key: text,
    operator: oneOf('', 'Exists', 'Equal', 'Lt', 'Gt'),
    value: text,
    effect: oneOf('', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
  }),
  (given, field) => {
    const { operator, value } = given as { operator?: string; value?: string };
    if (operator === 'Exists' && value) throw new FieldError(`${field}.value`, 'no value for operator Exists', value);
  },
);

const spreadConstraint = both(
  shape(
    {
      maxSkew: positive,
      topologyKey: nonEmptyText,
      whenUnsatisfiable: oneOf('DoNotSchedule', 'ScheduleAnyway'),
      labelSelector,
      minDomains: positive,
      nodeAffinityPolicy: oneOf('Honor', 'Ignore'),
      nodeTaintsPolicy: oneOf('Honor', 'Ignore'),
      matchLabelKeys: listOf(text),
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  ),
  (given, field) => {
    const { whenUnsatisfiable, minDomains } = given as { whenUnsatisfiable: string; minDomains?: number | null };
    if (whenUnsatisfiable !== 'DoNotSchedule' && minDomains)
      throw new FieldError(`${field}.minDomains`, 'none with whenUnsatisfiable ScheduleAnyway', minDomains);
  },
);

export const podSpec = shape(
  {
    nodeName: text,
    nodeSelector: mapOf(text),
    affinity: shape({
      nodeAffinity: shape({
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
        preferredDuringSchedulingIgnoredDuringExecution: listOf(
          shape({ weight, preference: nodeTerm }, ['weight', 'preference']),
        ),
      }),
      podAffinity,
      podAntiAffinity: podAffinity,
    }),
    tolerations: listOf(toleration),
    topologySpreadConstraints: listOf(spreadConstraint),
    schedulingGates: listOf(shape({ name: nonEmptyText }, ['name'])),
    hostNetwork: flag,
    containers: listOf(container),
    initContainers: listOf(container),
    overhead: mapOf(quantity),
    resources,
    volumes: listOf(
      shape({
        name: text,
        persistentVolumeClaim: shape({ claimName: nonEmptyText }, ['claimName']),
        ephemeral: anything,
        csi: shape({ driver: text }),
      }),
    ),
    priority: integer,
    priorityClassName: text,
    terminationGracePeriodSeconds: integer,
  },
  ['containers'],
);

const taint = shape({ key: nonEmptyText, value: text, effect: oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute') }, [
  'key',
  'effect',
]);
const podTemplate = shape({ metadata: shape({ labels: mapOf(text), annotations: mapOf(text) }), spec: podSpec }, [
  'spec',
]);
const workload = shape(
  { metadata, spec: shape({ replicas: integer, selector: labelSelector, template: podTemplate }) },
  ['metadata', 'spec'],
);

/** How each built-in kind is checked. */
export const builtInShapes: Readonly<Record<string, Check>> = {
  Pod: shape(
    {
      metadata,
      spec: podSpec,
      status: shape({ phase: text, startTime: time, nominatedNodeName: text }),
    },
    ['metadata', 'spec'],
  ),
  Node: shape(
    {
      metadata,
      spec: shape({ providerID: text, taints: listOf(taint), unschedulable: flag }),
      status: shape({
        capacity: mapOf(quantity),
        allocatable: mapOf(quantity),
        conditions: listOf(shape({ type: text, status: text }, ['type', 'status'])),
      }),
    },
    ['metadata'],
  ),
  Namespace: shape({ metadata }, ['metadata']),
  DaemonSet: shape({ metadata, spec: shape({ selector: labelSelector, template: podTemplate }, ['template']) }, [
    'metadata',
    'spec',
  ]),
  Deployment: workload,
  ReplicaSet: workload,
  StatefulSet: workload,
  PodTemplate: shape({ metadata, template: podTemplate }, ['metadata', 'template']),
  ReplicationController: shape({ metadata, spec: shape({ selector: mapOf(text) }) }, ['metadata', 'spec']),
  Service: shape({ metadata, spec: shape({ selector: mapOf(text) }) }, ['metadata']),
  PodDisruptionBudget: shape(
    { metadata, spec: shape({ selector: labelSelector }), status: shape({ disruptionsAllowed: integer }) },
    ['metadata', 'spec'],
  ),
  PersistentVolumeClaim: shape(
    { metadata, spec: shape({ storageClassName: text, volumeName: text }), status: shape({ phase: text }) },
    ['metadata', 'spec'],
  ),
  PersistentVolume: shape(
    { metadata, spec: shape({ nodeAffinity: shape({ required: nodeSelector }), storageClassName: text }) },
    ['metadata', 'spec'],
  ),
  StorageClass: shape(
    {
      metadata,
      provisioner: text,
      volumeBindingMode: oneOf('Immediate', 'WaitForFirstConsumer'),
      allowedTopologies: listOf(
        shape({ matchLabelExpressions: listOf(shape({ key: nonEmptyText, values: listOf(text) }, ['key', 'values'])) }),
      ),
    },
    ['metadata', 'provisioner'],
  ),
  CSINode: shape(
    {
      metadata,
      spec: shape({ drivers: listOf(shape({ name: nonEmptyText, allocatable: shape({ count: integer }) }, ['name'])) }),
    },
    ['metadata'],
  ),
};
