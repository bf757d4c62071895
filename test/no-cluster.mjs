// Unit tests talk to no cluster, engine or account, whatever the shell that runs them is set up for.
const theirs = /^(KUBECONFIG$|KUBERNETES_|CLUSTER_|TEMPORAL_|AWS_)/;

for (const name of Object.keys(process.env)) if (theirs.test(name)) delete process.env[name];
