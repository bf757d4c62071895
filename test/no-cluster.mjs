// Unit tests reach no cluster, Temporal or account: the environment of the shell is cleared.
const theirs = /^(KUBECONFIG$|KUBERNETES_|CLUSTER_|TEMPORAL_|AWS_)/;

for (const name of Object.keys(process.env)) if (theirs.test(name)) delete process.env[name];
