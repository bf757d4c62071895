/** The JSON form of a field of KubeletConfiguration. Durations are Go durations as text. */
export type KubeletFieldKind =
  | 'boolean'
  | 'integer'
  | 'number'
  | 'string'
  | 'duration'
  | 'strings'
  | 'integers'
  | 'stringMap'
  | 'booleanMap'
  | 'object'
  | 'objects';

const byKind: Readonly<Record<KubeletFieldKind, string>> = {
  boolean: `cgroupsPerQOS cpuCFSQuota enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler
    enableDebuggingHandlers enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery failCgroupV1
    failSwapOn kernelMemcgNotification localStorageCapacityIsolation makeIPTablesUtilChains mergeDefaultEvictionSettings
    protectKernelDefaults registerNode rotateCertificates runOnce seccompDefault serializeImagePulls serverTLSBootstrap
    singleProcessOOMKill`,
  integer: `containerLogMaxFiles containerLogMaxWorkers eventBurst eventRecordQPS evictionMaxPodGracePeriod healthzPort
    imageGCHighThresholdPercent imageGCLowThresholdPercent iptablesDropBit iptablesMasqueradeBit kubeAPIBurst kubeAPIQPS
    maxOpenFiles maxParallelImagePulls maxPods nodeLeaseDurationSeconds nodeStatusMaxImages oomScoreAdj podPidsLimit
    podsPerCore port readOnlyPort registryBurst registryPullQPS`,
  number: 'memoryThrottlingFactor',
  string: `address apiVersion cgroupDriver cgroupRoot clusterDomain configMapAndSecretChangeDetectionStrategy
    containerLogMaxSize containerRuntimeEndpoint contentType cpuManagerPolicy hairpinMode healthzBindAddress
    imagePullCredentialsVerificationPolicy imageServiceEndpoint kind kubeReservedCgroup kubeletCgroups
    memoryManagerPolicy memoryReservationPolicy podCIDR podLogsDir providerID reservedSystemCPUs resolvConf
    showHiddenMetricsForVersion staticPodPath staticPodURL systemCgroups systemReservedCgroup tlsCertFile tlsMinVersion
    tlsPrivateKeyFile topologyManagerPolicy topologyManagerScope volumePluginDir`,
  duration: `containerLogMonitorInterval cpuCFSQuotaPeriod cpuManagerReconcilePeriod evictionPressureTransitionPeriod
    fileCheckFrequency httpCheckFrequency imageMaximumGCAge imageMinimumGCAge nodeStatusReportFrequency
    nodeStatusUpdateFrequency runtimeRequestTimeout shutdownGracePeriod shutdownGracePeriodCriticalPods
    streamingConnectionIdleTimeout syncFrequency volumeStatsAggPeriod`,
  strings:
    'allowedUnsafeSysctls clusterDNS enforceNodeAllocatable preloadedImagesVerificationAllowlist tlsCipherSuites',
  integers: 'tlsCurvePreferences',
  stringMap: `cpuManagerPolicyOptions evictionHard evictionMinimumReclaim evictionSoft evictionSoftGracePeriod kubeReserved
    qosReserved systemReserved topologyManagerPolicyOptions`,
  booleanMap: 'featureGates',
  object: `authentication authorization crashLoopBackOff logging memorySwap staticPodURLHeader tracing userNamespaces`,
  objects: 'registerWithTaints reservedMemory shutdownGracePeriodByPodPriority',
};

/** Every field of KubeletConfiguration `kubelet.config.k8s.io/v1beta1` as of Kubernetes 1.36, with its form. */
export const kubeletFields: ReadonlyMap<string, KubeletFieldKind> = new Map(
  (Object.keys(byKind) as KubeletFieldKind[]).flatMap((kind) =>
    byKind[kind].split(/\s+/).map((name) => [name, kind] as const),
  ),
);

/** The fields that every image family has a place for in its user data (node-classes/kubelet-fields). */
export const understoodKubeletFields: readonly string[] = [
  'clusterDNS',
  'maxPods',
  'podsPerCore',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'cpuCFSQuota',
];
