/** The instance's own id: the last part of a provider id such as `aws:///us-west-2a/i-0abc`. */
export const instanceOfProviderId = (providerId: string): string => providerId.slice(providerId.lastIndexOf('/') + 1);
