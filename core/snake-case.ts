/** As Karpenter writes names of types and reasons in metric labels: `AcceleratedHardwareReady` is `accelerated_hardware_ready`. */
export const snakeCase = (text: string): string =>
  text
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
