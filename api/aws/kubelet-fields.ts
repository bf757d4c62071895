/**
 * The JSON type of a field of KubeletConfiguration. Durations are Go durations as strings; `moment` may also be
 * nanoseconds.
 */
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
  | 'stringsMap'
  | 'quantity'
  | 'quantityMap'
  | 'moment';

/** A field's type: that of a value, of an object with these fields, or of a list of such objects. */
export type KubeletForm = KubeletFieldKind | { readonly fields: KubeletFields } | { readonly each: KubeletFields };
export type KubeletFields = Readonly<{ [field: string]: KubeletForm }>;

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
  stringsMap: 'staticPodURLHeader',
  quantity: '',
  quantityMap: '',
  moment: '',
};

const logOptions: KubeletForm = { fields: { splitStream: 'boolean', infoBufferSize: 'quantity' } };
const nested: KubeletFields = {
  authentication: {
    fields: {
      x509: { fields: { clientCAFile: 'string' } },
      webhook: { fields: { enabled: 'boolean', cacheTTL: 'duration' } },
      anonymous: { fields: { enabled: 'boolean' } },
    },
  },
  authorization: {
    fields: {
      mode: 'string',
      webhook: { fields: { cacheAuthorizedTTL: 'duration', cacheUnauthorizedTTL: 'duration' } },
    },
  },
  crashLoopBackOff: { fields: { maxContainerRestartPeriod: 'duration' } },
  logging: {
    fields: {
      format: 'string',
      flushFrequency: 'moment',
      verbosity: 'integer',
      vmodule: { each: { filePattern: 'string', verbosity: 'integer' } },
      options: { fields: { text: logOptions, json: logOptions } },
    },
  },
  memorySwap: { fields: { swapBehavior: 'string' } },
  tracing: { fields: { endpoint: 'string', samplingRatePerMillion: 'integer' } },
  userNamespaces: { fields: { idsPerPod: 'integer' } },
  registerWithTaints: { each: { key: 'string', value: 'string', effect: 'string', timeAdded: 'string' } },
  reservedMemory: { each: { numaNode: 'integer', limits: 'quantityMap' } },
  shutdownGracePeriodByPodPriority: { each: { priority: 'integer', shutdownGracePeriodSeconds: 'integer' } },
};

/** Every field of KubeletConfiguration `kubelet.config.k8s.io/v1beta1` as of Kubernetes 1.36, with its type. */
export const kubeletFields: KubeletFields = {
  ...Object.fromEntries(
    (Object.keys(byKind) as KubeletFieldKind[]).flatMap((kind) =>
      byKind[kind].split(/\s+/).flatMap((name) => (name === '' ? [] : [[name, kind] as const])),
    ),
  ),
  ...nested,
};

/** The fields that the user data of every image family supports (node-classes/kubelet-fields). */
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
