import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { DomainError } from '../../core/failures.js';
import { checkReadable, evaluate, ExpressionError } from './expression.js';
import type { Variables } from './expression.js';

type Kubelet = Readonly<Record<string, unknown>>;

const quantity = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/;

/** The largest number that kubelet accepts. */
const mostPods = 2 ** 31 - 1;

/** For reserved amounts; for pods any text is an expression, even "7". */
const isExpression = (value: unknown): value is string => typeof value === 'string' && !quantity.test(value);
const isText = (value: unknown): value is string => typeof value === 'string';

/** Whether any setting is an expression, so that settings differ by type. */
export function hasExpressions(kubelet: Kubelet | undefined): boolean {
  const reserved = [kubelet?.['kubeReserved'], kubelet?.['systemReserved']];
  return isText(kubelet?.['maxPods']) || reserved.some((amounts) => Object.values(amounts ?? {}).some(isExpression));
}

/**
 * The settings for one instance type, with expressions evaluated (node-classes/kubelet-expressions). `podsWith`: the
 * number of pods with this maxPods, which is `max_pods` in the other expressions; without one it is `max_pods` in the
 * expression of maxPods. Throws `DomainError` of type Invalid, naming the field.
 */
export function resolvedKubelet(
  kubelet: Kubelet | undefined,
  info: InstanceTypeInfo,
  podsWith: (maxPods: number | undefined) => number,
): Kubelet {
  if (kubelet === undefined || !hasExpressions(kubelet)) return kubelet ?? {};
  const variables = variablesOf(info, podsWith(undefined));
  const { maxPods } = kubelet;
  const pods = isText(maxPods) ? Math.floor(amountOf('maxPods', maxPods, variables, mostPods)) : maxPods;
  const all = { ...variables, max_pods: podsWith(typeof pods === 'number' ? pods : undefined) };
  const amounts = (field: 'kubeReserved' | 'systemReserved'): object => {
    const given = kubelet[field];
    if (given === undefined || given === null) return {};
    const resolved = Object.entries(given).map(([name, amount]: [string, unknown]) => [
      name,
      isExpression(amount) ? withUnit(name, amountOf(`${field}.${name}`, amount, all)) : amount,
    ]);
    return { [field]: Object.fromEntries(resolved) as object };
  };
  return {
    ...kubelet,
    ...(pods === undefined ? {} : { maxPods: pods }),
    ...amounts('kubeReserved'),
    ...amounts('systemReserved'),
  };
}

/** The kinds of the variables in expressions. */
const kinds = {
  vcpus: 'number',
  memory_mib: 'number',
  default_enis: 'number',
  ips_per_eni: 'number',
  max_pods: 'number',
  instance_type: 'text',
} as const;

/** Errors in the expressions that do not depend on the instance type, with the names of the fields. */
export function unreadableExpressions(kubelet: Kubelet | undefined): string[] {
  const { maxPods } = kubelet ?? {};
  const given = isText(maxPods) ? [['maxPods', maxPods] as const] : [];
  const amounts = (['kubeReserved', 'systemReserved'] as const).flatMap((field) =>
    Object.entries(kubelet?.[field] ?? {}).flatMap(([name, amount]: [string, unknown]) =>
      isExpression(amount) ? [[`${field}.${name}`, amount] as const] : [],
    ),
  );
  return [...given, ...amounts].flatMap(([field, expression]) => {
    try {
      checkReadable(expression, kinds);
      return [];
    } catch (error) {
      if (error instanceof ExpressionError) return [`spec.kubelet.${field}: ${error.message}`];
      throw error;
    }
  });
}

function variablesOf(info: InstanceTypeInfo, maxPods: number): Record<keyof typeof kinds, Variables[string]> {
  const network = info.NetworkInfo;
  const card = network?.NetworkCards?.[network.DefaultNetworkCardIndex ?? 0];
  return {
    vcpus: info.VCpuInfo?.DefaultVCpus ?? 0,
    memory_mib: info.MemoryInfo?.SizeInMiB ?? 0,
    default_enis: card?.MaximumNetworkInterfaces ?? network?.MaximumNetworkInterfaces ?? 0,
    ips_per_eni: network?.Ipv4AddressesPerInterface ?? 0,
    max_pods: maxPods,
    instance_type: info.InstanceType ?? '',
  };
}

function amountOf(field: string, expression: string, variables: Variables, most = Number.MAX_VALUE): number {
  try {
    const value = evaluate(expression, variables);
    if (typeof value === 'number' && value >= 0 && value <= most) return value;
    throw new ExpressionError(`"${expression}" gives ${String(value)}, which is not an amount`);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const type = String(variables['instance_type']);
    throw new DomainError('Invalid', `spec.kubelet.${field}: ${error.message} (for ${type})`);
  }
}

/** Rule `node-classes/expression-units`: millicores rounded up to ten, MiB rounded up to sixteen, GiB. */
function withUnit(name: string, amount: number): string {
  if (name === 'cpu') return `${Math.ceil(amount / 10) * 10}m`;
  if (name === 'memory') return `${Math.ceil(amount / 16) * 16}Mi`;
  return name === 'ephemeral-storage' ? `${Math.ceil(amount)}Gi` : String(Math.ceil(amount));
}
