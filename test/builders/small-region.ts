/**
 * Families of instance types that EC2 has in tests that do not depend on which there are: seventy types of several architectures, with disks, GPUs and
 * accelerators, more than a launch asks for. EC2 has twenty times as many in all: reading, pricing and planning with them takes a fifth of the
 * processor time of a Stowage. Tests that count on how many pods share a node have all of them.
 */
export const smallRegion = ['c5', 'm5', 'r5', 't3', 'c5d', 'c6g', 'm6g', 'g4dn', 'inf1'] as const;

/** The same for tests of the provider, each of which reads all of it: what they launch, and three generations besides. */
export const providersRegion = [...smallRegion, 'c5n', 'c6i', 'm6i', 'r6i'] as const;
