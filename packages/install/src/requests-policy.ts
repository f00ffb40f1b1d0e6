import { DISTRUST, ROTATE } from '@handover/core';
import type { PolicyManifest } from './admission.ts';
import { celOneOf, onlyIn } from './admission-rules.ts';
import { GROUP, KIND_TABLE } from './crds.ts';

const { plural } = KIND_TABLE.Authority;

/** RBAC knows no annotations: who may update an Authority may change all of it, and who may only patch it may ask. */
const MAY_UPDATE = `authorizer.group('${GROUP}').resource('${plural}').namespace(request.namespace).name(request.name).check('update').allowed()`;

/** Holds accounts with the role for asking to the annotations that ask. */
export const requestsPolicy = (prefix: string, labels: Readonly<Record<string, string>>): PolicyManifest => {
  const metadata = { name: `${prefix}-requests`, labels };
  const message = `without the right to update ${plural} you may change only the annotations ${ROTATE} and ${DISTRUST}`;
  return {
    why: 'An account that may patch Authorities and not update them may ask for rotations and distrusts, and change nothing else.',
    policy: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [GROUP],
              apiVersions: ['*'],
              operations: ['UPDATE'],
              resources: [plural],
              scope: '*',
            },
          ],
        },
        matchConditions: [{ name: 'may-only-patch', expression: `!${MAY_UPDATE}` }],
        validations: onlyIn(plural, [], celOneOf(ROTATE, DISTRUST)).map(({ expression }) => ({
          expression,
          message,
          reason: 'Forbidden',
        })),
      },
    },
    binding: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    },
  };
};
