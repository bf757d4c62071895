/** The parts of a node class's `spec.kubelet` that Stowage itself understands (node-classes/kubelet-fields). */
export interface KubeletSettings {
  readonly clusterDNS?: readonly string[];
  readonly maxPods?: number;
  readonly podsPerCore?: number;
  readonly systemReserved?: Readonly<Record<string, string>>;
  readonly kubeReserved?: Readonly<Record<string, string>>;
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly cpuCFSQuota?: boolean;
}

/** `spec.kubelet` as settings; the node class's validation has checked the forms. */
export function kubeletSettings(kubelet: Readonly<Record<string, unknown>> | undefined): KubeletSettings {
  return kubelet ?? {};
}
