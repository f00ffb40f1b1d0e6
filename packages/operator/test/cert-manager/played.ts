import { CERT_MANAGER } from '@handover/core';
import { customResourceDefinitions, type Kube, type KubeObject, type Secret, secrets } from '@handover/kube';
import {
  type CertCondition,
  type CertificateRequest,
  type CertManagerCertificate,
  certificateRequests,
  certificates,
  conditionIn,
  type IssuerRef,
  withCondition,
} from '../../src/cert-manager/kinds.ts';
import { type CsrAsked, csrOf, newKeys } from './csr.ts';

/** cert-manager's CRDs, without their schemas. */
export const certManagerCrds = (): readonly KubeObject[] =>
  [certificates, certificateRequests].map(
    ({ plural, kind }) =>
      ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${CERT_MANAGER.group}` },
        spec: {
          group: CERT_MANAGER.group,
          scope: 'Namespaced',
          names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
          versions: [
            {
              name: CERT_MANAGER.version,
              served: true,
              storage: true,
              subresources: { status: {} },
              schema: {
                openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          ],
        },
      }) as unknown as KubeObject,
  );

export const installCertManagerCrds = async (kube: Kube): Promise<void> => {
  for (const crd of certManagerCrds()) await kube.create(customResourceDefinitions, crd);
};

/** As much of cert-manager as an issuer sees: it asks, approves, and writes Secrets. */
export class PlayedCertManager {
  readonly #kube: Kube;
  readonly #csr: (certificate: CertManagerCertificate) => CsrAsked;
  /** What an approver does with requests. */
  approves: 'approve' | 'deny' | 'nothing' = 'approve';
  /** Away: it does nothing. */
  away = false;
  readonly #keys = new Map<string, ReturnType<typeof newKeys>>();

  constructor(kube: Kube, csr: (certificate: CertManagerCertificate) => CsrAsked) {
    this.#kube = kube;
    this.#csr = csr;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!this.away) await this.#step().catch(() => {}); // lost races are tried again
      await this.#kube.clock.sleep(200, signal);
    }
  }

  #now(): string {
    return `${new Date(this.#kube.clock.now()).toISOString().slice(0, 19)}Z`;
  }

  async #step(): Promise<void> {
    const requests = (await this.#kube.list(certificateRequests)).items;
    for (const request of requests) await this.#decide(request);
    for (const certificate of (await this.#kube.list(certificates)).items)
      await this.#keep(certificate, requests);
  }

  async #decide(request: CertificateRequest): Promise<void> {
    const decided = ['Approved', 'Denied'].some((type) => conditionIn(request, type) !== undefined);
    if (decided || this.approves === 'nothing') return;
    const type = this.approves === 'approve' ? 'Approved' : 'Denied';
    await this.#say(certificateRequests, request, { type, status: 'True', reason: 'Played' });
  }

  async #say<T extends CertificateRequest | CertManagerCertificate>(
    kind: Parameters<Kube['update']>[0],
    object: T,
    condition: CertCondition,
    more: object = {},
  ): Promise<void> {
    const conditions = withCondition(object.status?.conditions ?? [], {
      ...condition,
      lastTransitionTime: this.#now(),
    });
    const { namespace, name = '', resourceVersion } = object.metadata;
    await this.#kube.patch(
      kind,
      { namespace, name, subresource: 'status' },
      { merge: { metadata: { resourceVersion }, status: { conditions, ...more } } },
    );
  }

  async #keep(certificate: CertManagerCertificate, all: readonly CertificateRequest[]): Promise<void> {
    const { namespace = '', name = '', uid = '' } = certificate.metadata;
    const secretName = certificate.spec?.secretName ?? '';
    const revision = Number((certificate.status as { revision?: number } | undefined)?.revision ?? 0);
    const secret = await this.#kube.get(secrets, { namespace, name: secretName });
    if (conditionIn(certificate, 'Issuing')?.status !== 'True') {
      if (secret === undefined && certificate.status?.lastFailureTime === undefined)
        await this.#say(certificates, certificate, {
          type: 'Issuing',
          status: 'True',
          reason: 'DoesNotExist',
        });
      return;
    }
    const asked = `${name}-${revision + 1}`;
    const request = all.find(({ metadata }) => metadata.namespace === namespace && metadata.name === asked);
    if (request === undefined) {
      const keys = newKeys();
      this.#keys.set(`${namespace}/${asked}`, keys);
      await this.#kube.create(certificateRequests, {
        apiVersion: CERT_MANAGER.apiVersion,
        kind: 'CertificateRequest',
        metadata: {
          namespace,
          name: asked,
          ownerReferences: [
            { apiVersion: CERT_MANAGER.apiVersion, kind: 'Certificate', name, uid, controller: true },
          ],
        },
        spec: {
          issuerRef: certificate.spec?.issuerRef as IssuerRef,
          request: Buffer.from(csrOf({ ...this.#csr(certificate), keys })).toString('base64'),
        },
      } as CertificateRequest);
      return;
    }
    const ready = conditionIn(request, 'Ready');
    if (ready?.reason === 'Failed' || ready?.reason === 'Denied') {
      const failed = { type: 'Issuing', status: 'False', reason: 'Failed', message: ready.message ?? '' };
      await this.#say(certificates, certificate, failed, {
        lastFailureTime: this.#now(),
        revision: revision + 1,
      });
      return;
    }
    if (ready?.status !== 'True') return;
    await this.#writeSecret(namespace, secretName, secret, request);
    const done = { type: 'Issuing', status: 'False', reason: 'Issued' };
    await this.#say(certificates, certificate, done, { revision: revision + 1 });
  }

  async #writeSecret(
    namespace: string,
    name: string,
    before: Secret | undefined,
    { metadata, status }: CertificateRequest,
  ): Promise<void> {
    const key = this.#keys.get(`${namespace}/${metadata.name}`)?.privateKey;
    const pem = key?.export({ type: 'pkcs8', format: 'pem' }) ?? '';
    const data = {
      'tls.crt': status?.certificate ?? '',
      'tls.key': Buffer.from(String(pem)).toString('base64'),
      'ca.crt': status?.ca ?? '',
    };
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { namespace, name, labels: { [CERT_MANAGER.secretLabel]: 'true' } },
      data,
    } as Secret;
    if (before === undefined) await this.#kube.create(secrets, body);
    else await this.#kube.update(secrets, { ...before, data });
  }
}
