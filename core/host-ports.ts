import type { Container, Pod } from '../api/kubernetes.js';

export interface HostPort {
  readonly protocol: string;
  /** Empty for all addresses. */
  readonly hostIP: string;
  readonly hostPort: number;
}

const none: readonly HostPort[] = [];

/**
 * The host port of a container port; undefined if it has none. With `hostNetwork` every container port is a host port:
 * the API server sets it in pods, but not in the templates of DaemonSets.
 */
export function hostPortOf(
  { hostPort, containerPort }: NonNullable<Container['ports']>[number],
  hostNetwork: boolean | undefined,
): number | undefined {
  const own = hostPort === 0 ? undefined : hostPort;
  const port = own ?? (hostNetwork === true ? containerPort : undefined);
  return port === 0 ? undefined : port;
}

/** The host ports of a pod, including those of its sidecars (scheduling/host-ports). */
export function hostPorts({ spec }: Pick<Pod, 'spec'>): readonly HostPort[] {
  let found: HostPort[] | undefined;
  const take = ({ ports }: Container): void => {
    if (ports === undefined) return;
    for (const port of ports) {
      const hostPort = hostPortOf(port, spec.hostNetwork);
      if (hostPort === undefined) continue;
      found ??= [];
      found.push({ protocol: port.protocol ?? 'TCP', hostIP: port.hostIP ?? '', hostPort });
    }
  };
  for (const container of spec.containers) take(container);
  if (spec.initContainers !== undefined) {
    for (const container of spec.initContainers) if (container.restartPolicy === 'Always') take(container);
  }
  return found ?? none;
}

const isAnyAddress = (ip: string): boolean => ip === '' || ip === '0.0.0.0' || ip === '::';

/** Whether two sets of host ports cannot be on one node. */
export function portsClash(left: readonly HostPort[], right: readonly HostPort[]): boolean {
  return left.some((a) =>
    right.some(
      (b) =>
        a.hostPort === b.hostPort &&
        a.protocol === b.protocol &&
        (a.hostIP === b.hostIP || isAnyAddress(a.hostIP) || isAnyAddress(b.hostIP)),
    ),
  );
}
