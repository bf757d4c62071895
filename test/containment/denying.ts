/** An admission policy that answers 403 to writes of a kind for which `allowed` (CEL) does not hold. */
export function denying(
  name: string,
  rule: { apiGroup: string; resource: string; operations: readonly string[] },
  allowed: string,
): readonly object[] {
  const api = 'admissionregistration.k8s.io/v1';
  const { apiGroup, resource, operations } = rule;
  const resourceRules = [{ apiGroups: [apiGroup], apiVersions: ['*'], operations, resources: [resource] }];
  return [
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules },
        validations: [{ expression: allowed, message: `${name} says no`, reason: 'Forbidden' }],
      },
    },
    {
      apiVersion: api,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}
