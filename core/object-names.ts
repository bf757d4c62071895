/** The longest name of an object in Kubernetes. */
export const longestName = 253;
