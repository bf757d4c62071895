import {
  anything,
  both,
  FieldError,
  flagCheck,
  integerCheck,
  listCheck,
  mapCheck,
  nonEmptyText,
  oneOfCheck,
  quantityCheck,
  shape,
  someCheck,
  textCheck,
  time,
  type Check,
} from './check.js';
import { templateHint } from './read-documents.js';

const filledInText: Check = (value, field) => {
  nonEmptyText(value, field);
  if (templateHint(String(value)) !== undefined) throw new FieldError(field, 'a name', value);
};

/**
 * The fields of Kubernetes objects that packing reads, with the API server's validation. Files may come from users and
 * scripts as well as from `kubectl get`.
 */
const metadata = shape(
  {
    name: filledInText,
    namespace: textCheck,
    uid: textCheck,
    labels: mapCheck(textCheck),
    annotations: mapCheck(textCheck),
    creationTimestamp: time,
    deletionTimestamp: time,
    ownerReferences: listCheck(
      shape({ apiVersion: textCheck, kind: textCheck, name: textCheck, uid: textCheck, controller: flagCheck }, [
        'apiVersion',
        'kind',
        'name',
      ]),
    ),
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
      operator: oneOfCheck('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'),
      values: listCheck(textCheck),
    },
    ['key', 'operator'],
  ),
  needsValues(['In', 'NotIn'], ['Gt', 'Lt', 'Gte', 'Lte']),
);
const nodeTerm = shape({ matchExpressions: listCheck(nodeRequirement), matchFields: listCheck(anything) });
const nodeSelector = shape({ nodeSelectorTerms: someCheck(nodeTerm) }, ['nodeSelectorTerms']);

const labelSelector = shape({
  matchLabels: mapCheck(textCheck),
  matchExpressions: listCheck(
    both(
      shape(
        {
          key: nonEmptyText,
          operator: oneOfCheck('In', 'NotIn', 'Exists', 'DoesNotExist'),
          values: listCheck(textCheck),
        },
        ['key', 'operator'],
      ),
      needsValues(['In', 'NotIn'], []),
    ),
  ),
});

const affinityTerm = shape(
  {
    labelSelector,
    namespaces: listCheck(textCheck),
    namespaceSelector: labelSelector,
    topologyKey: nonEmptyText,
    matchLabelKeys: listCheck(textCheck),
    mismatchLabelKeys: listCheck(textCheck),
  },
  ['topologyKey'],
);
const weight: Check = (value, field) => {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > 100)
    throw new FieldError(field, 'a whole number from 1 to 100', value);
};

const podAffinity = shape({
  requiredDuringSchedulingIgnoredDuringExecution: listCheck(affinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: listCheck(
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

const resources = shape({ requests: mapCheck(quantityCheck), limits: mapCheck(quantityCheck) });
const container = shape({
  name: textCheck,
  resources,
  restartPolicy: oneOfCheck('Always', 'Never', 'OnFailure'),
  ports: listCheck(
    shape({ containerPort: port, hostPort: port, hostIP: textCheck, protocol: oneOfCheck('TCP', 'UDP', 'SCTP') }),
  ),
});

const toleration = both(
  shape({
    key: textCheck,
    operator: oneOfCheck('', 'Exists', 'Equal', 'Lt', 'Gt'),
    value: textCheck,
    effect: oneOfCheck('', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
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
      whenUnsatisfiable: oneOfCheck('DoNotSchedule', 'ScheduleAnyway'),
      labelSelector,
      minDomains: positive,
      nodeAffinityPolicy: oneOfCheck('Honor', 'Ignore'),
      nodeTaintsPolicy: oneOfCheck('Honor', 'Ignore'),
      matchLabelKeys: listCheck(textCheck),
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  ),
  (given, field) => {
    const { whenUnsatisfiable, minDomains } = given as { whenUnsatisfiable: string; minDomains?: number | null };
    if (whenUnsatisfiable !== 'DoNotSchedule' && minDomains)
      throw new FieldError(`${field}.minDomains`, 'none with whenUnsatisfiable ScheduleAnyway', minDomains);
  },
);

const podSpec = shape(
  {
    nodeName: textCheck,
    nodeSelector: mapCheck(textCheck),
    affinity: shape({
      nodeAffinity: shape({
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
        preferredDuringSchedulingIgnoredDuringExecution: listCheck(
          shape({ weight, preference: nodeTerm }, ['weight', 'preference']),
        ),
      }),
      podAffinity,
      podAntiAffinity: podAffinity,
    }),
    tolerations: listCheck(toleration),
    topologySpreadConstraints: listCheck(spreadConstraint),
    schedulingGates: listCheck(shape({ name: nonEmptyText }, ['name'])),
    hostNetwork: flagCheck,
    containers: listCheck(container),
    initContainers: listCheck(container),
    overhead: mapCheck(quantityCheck),
    resources,
    volumes: listCheck(
      shape({
        name: textCheck,
        persistentVolumeClaim: shape({ claimName: nonEmptyText }, ['claimName']),
        ephemeral: anything,
        csi: shape({ driver: textCheck }),
        // Not a misspelt `csi`.
        iscsi: anything,
      }),
    ),
    priority: integerCheck,
    priorityClassName: textCheck,
    terminationGracePeriodSeconds: integerCheck,
  },
  ['containers'],
);

const containerStatus = shape({ name: textCheck, resources, allocatedResources: mapCheck(quantityCheck) });

const taint = shape(
  { key: nonEmptyText, value: textCheck, effect: oneOfCheck('NoSchedule', 'PreferNoSchedule', 'NoExecute') },
  ['key', 'effect'],
);
const podTemplate = shape(
  { metadata: shape({ labels: mapCheck(textCheck), annotations: mapCheck(textCheck) }), spec: podSpec },
  ['spec'],
);
const workload = shape(
  { metadata, spec: shape({ replicas: integerCheck, selector: labelSelector, template: podTemplate }) },
  ['metadata', 'spec'],
);

const countOrPercent: Check = (value, field) => {
  if (!/^\d+%?$/.test(String(value)))
    throw new FieldError(field, 'a number of pods, or a percentage such as 50%', value);
};

/** Checks of kinds in addition to their schema. */
export const anyObject = shape({ metadata }, ['metadata']);

/** The check of each built-in kind. */
export const builtInShapes: Readonly<Record<string, Check>> = {
  Pod: shape(
    {
      metadata,
      spec: podSpec,
      status: shape({
        phase: textCheck,
        startTime: time,
        nominatedNodeName: textCheck,
        conditions: listCheck(shape({ type: textCheck, reason: textCheck }, ['type'])),
        containerStatuses: listCheck(containerStatus),
        initContainerStatuses: listCheck(containerStatus),
        resources,
        allocatedResources: mapCheck(quantityCheck),
      }),
    },
    ['metadata', 'spec'],
  ),
  Node: shape(
    {
      metadata,
      spec: shape({ providerID: textCheck, taints: listCheck(taint), unschedulable: flagCheck }),
      status: shape({
        capacity: mapCheck(quantityCheck),
        allocatable: mapCheck(quantityCheck),
        conditions: listCheck(shape({ type: textCheck, status: textCheck }, ['type', 'status'])),
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
  ReplicationController: shape({ metadata, spec: shape({ selector: mapCheck(textCheck) }) }, ['metadata', 'spec']),
  Service: shape({ metadata, spec: shape({ selector: mapCheck(textCheck) }) }, ['metadata']),
  PodDisruptionBudget: shape(
    {
      metadata,
      spec: shape({ selector: labelSelector, minAvailable: countOrPercent, maxUnavailable: countOrPercent }),
      status: shape({ disruptionsAllowed: integerCheck }),
    },
    ['metadata', 'spec'],
  ),
  PersistentVolumeClaim: shape(
    {
      metadata,
      spec: shape({
        storageClassName: textCheck,
        volumeName: textCheck,
        volumeMode: textCheck,
        accessModes: listCheck(textCheck),
        resources,
        selector: labelSelector,
      }),
      status: shape({ phase: textCheck }),
    },
    ['metadata', 'spec'],
  ),
  PersistentVolume: shape(
    {
      metadata,
      spec: shape({
        nodeAffinity: shape({ required: nodeSelector }),
        storageClassName: textCheck,
        capacity: mapCheck(quantityCheck),
        accessModes: listCheck(textCheck),
        volumeMode: textCheck,
        claimRef: shape({ namespace: textCheck, name: textCheck }),
      }),
      status: shape({ phase: textCheck }),
    },
    ['metadata', 'spec'],
  ),
  StorageClass: shape(
    {
      metadata,
      provisioner: textCheck,
      volumeBindingMode: oneOfCheck('Immediate', 'WaitForFirstConsumer'),
      allowedTopologies: listCheck(
        shape({
          matchLabelExpressions: listCheck(
            shape({ key: nonEmptyText, values: listCheck(textCheck) }, ['key', 'values']),
          ),
        }),
      ),
    },
    ['metadata', 'provisioner'],
  ),
  CSINode: shape(
    {
      metadata,
      spec: shape({
        drivers: listCheck(shape({ name: nonEmptyText, allocatable: shape({ count: integerCheck }) }, ['name'])),
      }),
    },
    ['metadata'],
  ),
};

/** A Job, which is read only as an object to apply. */
export const jobShape: Check = shape(
  {
    metadata,
    spec: shape({ parallelism: integerCheck, completions: integerCheck, template: podTemplate }, ['template']),
  },
  ['metadata', 'spec'],
);
