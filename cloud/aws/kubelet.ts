/** The fields of a node class's `spec.kubelet` that Stowage interprets (node-classes/kubelet-fields). */
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

/** `spec.kubelet` as settings; validation of the node class has checked the formats. */
export function kubeletSettings(kubelet: Readonly<Record<string, unknown>> | undefined): KubeletSettings {
  return kubelet ?? {};
}
