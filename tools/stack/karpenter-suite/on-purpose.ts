/** Specs that Stowage does not pass, by title, with why it does otherwise. */
export const onPurpose: ReadonlyMap<string, string> = new Map([
  [
    "Drift should update the nodepool-hash annotation on the nodepool and nodeclaim when the nodepool's nodepool-hash-version annotation does not match the controller hash version",
    'the spec compares with hashes of Karpenter’s own program; Stowage has another hash, under another version (node-pools/hash-version)',
  ],
]);
